/** A turn that fails before it is a row of its own: said once, ended, and not answered unasked after a restart. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { countRows, operatorId, quiet, startGateway, textsIn, world } from "../support/gateway.js";

it("is told once, ends as failed, and its message is not answered after a restart", async () => {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  const first = await startGateway(where);
  // A folder where a file is expected: the prompt of a new session cannot be built.
  mkdirSync(where.home.path("data", "SOUL.md"), { recursive: true });

  where.telegram.say(operatorId, "pay the rent");
  await where.telegram.waitSent(1);
  await quiet(where);
  await first.stop();
  where.telegram.say(operatorId, "and now?");
  rmSync(where.home.path("data", "SOUL.md"), { recursive: true });
  writeFileSync(where.home.path("data", "SOUL.md"), "Be kind.");
  await startGateway(where);
  await where.telegram.waitSent(2);
  await quiet(where);

  expect(textsIn(where)).toEqual([expect.stringContaining("could not answer"), "Answer."]);
  expect(countRows(where, "select count(*) n from inbox where disposition = 'failed'")).toBe(1);
  expect(where.model.requests).toHaveLength(1);
});

it("answers a message whose time no calendar has", async () => {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  await startGateway(where);

  where.telegram.say(operatorId, "hello", { fields: { date: 9e15 } });
  await where.telegram.waitSent(1);

  expect(textsIn(where)).toEqual(["Answer."]);
});

it("cuts a list that is too long for the chat and attaches the rest", async () => {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  const { gateway } = await startGateway(where);
  where.telegram.say(operatorId, "hello");
  await where.telegram.waitSent(1);
  const person = (await gateway.parts.stores.access.account("telegram", String(operatorId)))?.personId ?? "";
  mkdirSync(where.home.path("data", "people", person), { recursive: true });
  writeFileSync(where.home.path("data", "people", person, "USER.md"), "A long entry, written by hand. ".repeat(4_000));

  where.telegram.say(operatorId, "/memory list");
  await quiet(where, 30_000);

  const sent = where.telegram.sent.slice(1);
  expect(sent.length).toBeLessThanOrEqual(9);
  expect(sent.at(-1)?.file?.name).toBe("answer.md");
}, 60_000);
