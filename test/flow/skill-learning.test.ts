/** Skills are learnt from work with tools: ten iterations through a real MCP server, a review, and what the next sessions do with it. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { operatorId, startGateway, until, world, type World } from "../support/gateway.js";
import { workshopProcess } from "../support/mcp-setup.js";
import { messageText, type WireRequest } from "../support/scripted-model.js";

const skill = `---
name: bank-csv
description: How to clean the bank's CSV export.
---
# Bank CSV
1. Skip the first three lines.
2. Use ; as the separator.
`;

function isReview(request: WireRequest): boolean {
  return messageText(request.messages.findLast((message) => message.role === "user")).startsWith("[Review.");
}

function toolCalls(request: WireRequest): number {
  return request.messages.filter((message) => message.role === "tool").length;
}

/** Settings with the workshop as an MCP server; the guest must not use it, the operator may. */
function withWorkshop(where: World): Record<string, string> {
  const { command, args } = workshopProcess({ notes: where.home.path("notes.txt") });
  const file = where.home.path("mneme.yaml");
  writeFileSync(file, stringify({ mcp: { servers: { shop: { command, args, readOnly: ["add"], timeoutMs: 20_000 } } } }));
  return { MNEME_CONFIG: file, MNEME__learning__idleSeconds: "0", MNEME__turns__joinMs: "0" };
}

/** Starts the gateway and waits for the MCP server: a session's tools are frozen when it begins. */
async function startWithWorkshop(where: World, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const { gateway } = await startGateway(where, { ...withWorkshop(where), ...more });
  await until("the workshop", () => gateway.parts.features.mcp.states().every((server) => server.state === "up"), 30_000);
}

async function sayAndWait(where: World, text: string, answer: string): Promise<void> {
  where.telegram.say(operatorId, text);
  await until(`the answer ${answer}`, () => where.telegram.sent.some((stored) => stored.message.text === answer), 20_000);
}

describe("skills that grow out of work", () => {
  it("creates a skill after ten tool iterations, loads it in the next session and patches it", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.answerWith((request) => {
      const said = messageText(request.messages.findLast((message) => message.role === "user"));
      const last = request.messages.at(-1);
      if (isReview(request)) {
        return last?.role === "tool"
          ? "NOTHING"
          : { calls: [{ name: "skill_manage", arguments: { action: "create", name: "bank-csv", content: skill } }] };
      }
      if (said.includes("clean the export"))
        return toolCalls(request) < 10 ? { calls: [{ name: "shop_add", arguments: { a: toolCalls(request), b: 1 } }] } : "cleaned";
      if (said.includes("again, please")) {
        const step = request.messages
          .slice(request.messages.findLastIndex((message) => message.role === "user") + 1)
          .filter((message) => message.role === "tool").length;
        if (step === 0) return { calls: [{ name: "skill_view", arguments: { name: "bank-csv" } }] };
        if (step === 1) {
          return {
            calls: [
              {
                name: "skill_manage",
                arguments: {
                  action: "patch",
                  name: "bank-csv",
                  old_string: "Skip the first three lines.",
                  new_string: "Skip the first four lines.",
                },
              },
            ],
          };
        }
        return "done with the skill";
      }
      return "hm";
    });
    await startWithWorkshop(where);

    await sayAndWait(where, "please clean the export", "cleaned");
    await until("the notice", () => where.telegram.sent.some((stored) => stored.message.text === "💾 Skill 'bank-csv' created"), 20_000);
    where.telegram.say(operatorId, "/new");
    await until("the new session", () =>
      where.telegram.sent.some((stored) => stored.message.text?.startsWith("A new conversation has begun")),
    );
    await sayAndWait(where, "again, please, but four lines", "done with the skill");

    const second = where.model.requests.filter((request) =>
      messageText(request.body.messages.findLast((message) => message.role === "user")).includes("again, please"),
    );
    expect(messageText(second[0]?.body.messages[0])).toContain("bank-csv: How to clean the bank's CSV export.");
    const results =
      second
        .at(-1)
        ?.body.messages.filter((message) => message.role === "tool")
        .map((message) => messageText(message)) ?? [];
    expect(results[0]).toContain("Skip the first three lines.");
    expect(results[1]).toContain('"changed":true');
    where.telegram.say(operatorId, "/skills log");
    await until("the log", () =>
      where.telegram.sent.some(
        (stored) => /bank-csv/u.test(stored.message.text ?? "") && /Changes to skills/u.test(stored.message.text ?? ""),
      ),
    );
  }, 60_000);

  it("refuses an MCP tool to somebody who is no operator", async () => {
    const where = await world();
    const guest = 2002;
    where.telegram.person(operatorId);
    where.telegram.person(guest);
    where.model.answerWith((request) =>
      request.messages.at(-1)?.role === "tool"
        ? `result: ${messageText(request.messages.at(-1)).slice(0, 120)}`
        : { calls: [{ name: "shop_note", arguments: { line: "written" } }] },
    );
    await startWithWorkshop(where, { MNEME__access__users: `telegram:${guest}` });

    where.telegram.say(guest, "write it down");
    const [sent] = await where.telegram.waitSent(1, 20_000);

    expect(sent?.message.text).toMatch(/error/u);
    expect(sent?.message.text).toMatch(/may not use shop_note/u);
    expect(
      where.model.requests.some((request) => request.body.messages.some((message) => messageText(message).includes("kept: written"))),
    ).toBe(false);
  }, 60_000);
});
