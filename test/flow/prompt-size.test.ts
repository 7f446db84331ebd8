/** What a new session with empty memory sends for "hello". */
import { expect, it } from "vitest";
import { operatorId, startGateway, world } from "../support/gateway.js";
import { messageText } from "../support/scripted-model.js";

it("sends less than 12 KB of system prompt and tool schemas for a hello", async () => {
  const where = await world();
  where.telegram.person(operatorId);
  where.model.answerWith(() => "hi");
  await startGateway(where);

  where.telegram.say(operatorId, "hello");
  await where.telegram.waitSent(1);

  const body = where.model.requests[0]?.body;
  expect(where.telegram.sent.map((stored) => stored.message.text)).toContain("hi");
  const bytes = Buffer.byteLength(messageText(body?.messages[0])) + Buffer.byteLength(JSON.stringify(body?.tools ?? []));
  expect(body?.tools?.map((tool) => tool.function.name)).toEqual(["memory", "skills_list", "skill_view", "skill_manage", "session_search"]);
  expect(bytes).toBeLessThan(12 * 1024);
});
