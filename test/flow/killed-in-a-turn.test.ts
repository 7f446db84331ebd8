/**
 * The process is killed with SIGKILL at different points of a turn. Whatever the moment: one committed reply, no tool
 * effect twice, at most one copy of each part in the chat; only "request left, no answer" may miss a part, and says so.
 */
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import SqliteDriver from "better-sqlite3";
import { operatorId, until, world, type World } from "../support/gateway.js";
import { spawnGateway, type GatewayProcess } from "../support/gateway-process.js";
import type { WireRequest } from "../support/scripted-model.js";
import { messageText } from "../support/scripted-model.js";

const answer = "The answer to your question.";
const memoryCall = {
  calls: [
    {
      name: "memory",
      arguments: { action: "add", target: "user", content: "Likes tea in the morning.", evidence: "I like tea in the morning" },
    },
  ],
};

interface Point {
  readonly name: string;
  readonly says: string;
  /** Plans the kill; called before the message is sent. `kill` may be called at any time, once. */
  readonly plan?: (where: World, kill: () => void) => void;
  /** Or: killed this long after the message was sent. */
  readonly afterMs?: number;
  /** The send left and nobody knows its end: the next answer has to say so. */
  readonly unknown?: boolean;
  readonly memory?: boolean;
}

const points: readonly Point[] = [
  ...[0, 3, 8, 20].map((ms): Point => ({
    name: `${ms} ms after Telegram handed the message over`,
    says: "hello",
    afterMs: ms,
  })),
  {
    name: "in the model call, before its first byte",
    says: "hello",
    plan: (where, kill) => onFirstRequest(where, () => void setTimeout(kill, 5)),
  },
  {
    name: "after the tool ran, in the second model call",
    says: "I like tea in the morning",
    memory: true,
    plan: (where, kill) => withMemory(where, (request) => void (hasResult(request) && kill())),
  },
  {
    name: "in a tool that waits for the database",
    says: "I like tea in the morning",
    memory: true,
    plan: (where, kill) =>
      withMemory(where, (request) => {
        if (hasResult(request)) return;
        const db = new SqliteDriver(where.home.path("data", "mneme.db"));
        setTimeout(() => {
          db.exec("begin immediate");
          setTimeout(() => {
            kill();
            db.exec("rollback");
            db.close();
          }, 60);
        }, 1);
      }),
  },
  {
    name: "right after the model's last byte, around the commit",
    says: "hello",
    plan: (where, kill) => onFirstRequest(where, () => undefined, kill),
  },
  {
    name: "in the first send of a preview",
    says: "hello",
    plan: (where, kill) => {
      slowly(where);
      where.telegram.fail("sendMessage", { times: 1, never: "before", match: () => (setTimeout(kill, 20), true) });
    },
  },
  {
    name: "in an edit of a preview",
    says: "hello",
    plan: (where, kill) => {
      slowly(where);
      where.telegram.fail("editMessageText", { times: 1, never: "after", match: () => (setTimeout(kill, 20), true) });
    },
  },
  {
    name: "in a send that has not arrived",
    says: "hello",
    unknown: true,
    plan: (where, kill) =>
      void where.telegram.fail("sendMessage", { times: 1, never: "before", match: () => (setTimeout(kill, 20), true) }),
  },
  {
    name: "in a send that has arrived and was not answered",
    says: "hello",
    unknown: true,
    plan: (where, kill) => void where.telegram.fail("sendMessage", { times: 1, never: "after", match: () => (setTimeout(kill, 20), true) }),
  },
];

describe("a gateway killed in a turn", () => {
  it.each(points)("answers once when it is killed $name", async (point) => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.answerWith(() => answer);
    const victim: { process?: GatewayProcess } = {};
    let killed: Promise<void> | undefined;
    const kill = (): void => {
      killed ??= victim.process?.kill();
    };
    point.plan?.(where, kill);
    victim.process = await spawnGateway(where);

    where.telegram.say(operatorId, point.says);
    if (point.afterMs !== undefined) setTimeout(kill, point.afterMs);
    await until("the kill", () => killed !== undefined);
    await killed;
    where.telegram.clearFaults();
    if (point.memory !== true) where.model.answerWith(() => answer);
    await spawnGateway(where);
    await until("one committed reply", () => count(where, "select count(*) n from turns where state = 'answered'") === 1);
    await until("nothing left to send", () => count(where, "select count(*) n from outbox where state in ('waiting', 'sending')") === 0);

    const copies = texts(where).filter((text) => text.includes(answer)).length;
    expect(copies).toBeLessThanOrEqual(1);
    if (point.unknown !== true) expect(copies).toBe(1);
    expect(count(where, "select count(*) n from messages where role = 'assistant' and json_extract(entry, '$.content') <> ''")).toBe(1);
    expect(count(where, "select count(*) n from inbox where disposition = 'answered'")).toBe(1);
    if (point.memory === true) expect(userFile(where).split("Likes tea").length - 1).toBe(1);

    where.model.answerWith(() => "Second answer.");
    where.telegram.say(operatorId, "and now?");
    await until("the second answer", () => texts(where).some((text) => text.includes("Second answer.")));
    const second = texts(where).find((text) => text.includes("Second answer."));
    expect(second?.includes("may not have arrived")).toBe(point.unknown === true);
  });
});

function texts(where: World): string[] {
  return where.telegram.sent.map((stored) => stored.message.text ?? "");
}

function count(where: World, sql: string): number {
  const db = new SqliteDriver(where.home.path("data", "mneme.db"), { readonly: true });
  try {
    return (db.prepare(sql).get() as { n: number }).n;
  } finally {
    db.close();
  }
}

function userFile(where: World): string {
  const [person] = readdirSync(where.home.path("data", "people"));
  return readFileSync(where.home.path("data", "people", person ?? "", "USER.md"), "utf8");
}

function hasResult(request: WireRequest): boolean {
  return request.messages.some((message) => message.role === "tool");
}

/** The first answer comes word by word, slowly enough for previews. */
function slowly(where: World): void {
  where.model.push({ text: `${answer} It goes on for a while.`, chunkSize: 4, delayMs: 350 });
}

/** The first request: `begun` when it arrives, `ended` when its last byte was written. */
function onFirstRequest(where: World, begun: () => void, ended?: () => void): void {
  let first = true;
  where.model.answerWith(async () => {
    if (!first) return answer;
    first = false;
    begun();
    if (ended !== undefined) void until("the last byte", () => where.model.requests[0]?.answered === true).then(ended);
    else await new Promise((resolve) => setTimeout(resolve, 200));
    return answer;
  });
}

/** The model saves a preference and then answers, however often it is asked. */
function withMemory(where: World, onRequest: (request: WireRequest) => void): void {
  where.model.answerWith((request) => {
    onRequest(request);
    const asked = messageText(request.messages.at(-1));
    return !hasResult(request) && asked.includes("tea") ? memoryCall : answer;
  });
}
