/** The main job through the real telegraf client: a person writes, the bot answers, and it remembers. */
import { describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { operatorId, startGateway, until, world } from "../support/gateway.js";
import { messageBytes } from "../support/scripted-model.js";

describe("a first conversation", () => {
  it("answers a direct message once", async () => {
    const where = await world();
    where.model.push("Hello, I am here.");
    where.telegram.person(operatorId);
    await startGateway(where);

    where.telegram.say(operatorId, "hello");
    const [sent] = await where.telegram.waitSent(1);

    expect(sent?.message.text).toBe("Hello, I am here.");
    expect(where.model.requests).toHaveLength(1);
  });

  it("saves a preference, keeps the running prompt to the byte and shows it in the next session", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    const { gateway } = await startGateway(where);
    where.model.push(
      {
        calls: [
          {
            name: "memory",
            arguments: { action: "add", target: "user", content: "Prefers short answers.", evidence: "from now on answer briefly" },
          },
        ],
      },
      "Noted, I will keep it short.",
      "Still here.",
      "A new start.",
    );

    where.telegram.say(operatorId, "Please, from now on answer briefly.");
    await where.telegram.waitSent(1);
    where.telegram.say(operatorId, "are you there?");
    await where.telegram.waitSent(2);

    const [first, second, third] = where.model.requests;
    const personId = (await gateway.parts.stores.access.account("telegram", String(operatorId)))?.personId ?? "";
    expect(readFileSync(where.home.path("data", "people", personId, "USER.md"), "utf8")).toContain("Prefers short answers.");
    expect(third?.body.messages[0]).toEqual(first?.body.messages[0]);
    expect(messageBytes(third!).startsWith(messageBytes(second!).slice(0, -1))).toBe(true);

    where.telegram.say(operatorId, "/new");
    await where.telegram.waitSent(3);
    where.telegram.say(operatorId, "hi again");
    await until("the fourth request", () => where.model.requests.length === 4);

    expect(JSON.stringify(where.model.requests[3]?.body.messages[0])).toContain("Prefers short answers.");
  });
});
