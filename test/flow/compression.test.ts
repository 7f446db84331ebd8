/** Conversations that outgrow the model's window, through the whole gateway. The scripted model refuses every request that is not valid. */
import { describe, expect, it } from "vitest";
import SqliteDriver from "better-sqlite3";
import { buildAdapters } from "../../adapters/registry.js";
import { countRows, operatorId, quiet, startGateway, textsIn, until, world, type Running, type World } from "../support/gateway.js";
import { messageText, type ScriptedReply, type WireRequest } from "../support/scripted-model.js";

const ended = "select count(*) n from turns where state <> 'running'";

async function say(where: World, text: string): Promise<void> {
  const before = countRows(where, ended);
  where.telegram.say(operatorId, text);
  await until(`the end of the turn "${text.slice(0, 30)}"`, () => countRows(where, ended) > before, 20_000);
  await quiet(where, 20_000);
}

function rows<T>(where: World, sql: string): T[] {
  const db = new SqliteDriver(where.home.path("data", "mneme.db"), { readonly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

const systemOf = (request: WireRequest): string => messageText(request.messages[0]);
const isSummary = (request: WireRequest): boolean => systemOf(request).startsWith("You write the hand-over");
const lastUser = (request: WireRequest): string => messageText(request.messages.findLast((message) => message.role === "user"));
const tokens = (request: WireRequest): number => Math.ceil(JSON.stringify([request.messages, request.tools ?? []]).length / 4);

/** Counts tokens as a server with a prefix cache does: what a request shares with an earlier one is cached. */
function usageCounter(): (request: WireRequest) => Record<string, unknown> {
  const seen: string[] = [];
  return (request) => {
    const text = JSON.stringify(request.messages);
    let cached = 0;
    for (const earlier of seen.slice(-6)) {
      let at = 0;
      while (at < text.length && text[at] === earlier[at]) at += 1;
      cached = Math.max(cached, at);
    }
    seen.push(text);
    const input = tokens(request);
    return {
      prompt_tokens: input,
      completion_tokens: 20,
      total_tokens: input + 20,
      prompt_tokens_details: { cached_tokens: Math.floor(cached / 4) },
    };
  };
}

/** Facts of the summary request that a careful model would carry over. */
function summary(request: WireRequest): string {
  const text = lastUser(request);
  const facts = [...new Set([...text.matchAll(/the code word of turn (\d+) is (\w+)/g)].map((found) => found[0]))];
  return `## Facts\n${facts.slice(0, 400).join("\n").slice(0, 1_200)}`;
}

async function started(
  answer: (request: WireRequest, n: number) => ScriptedReply | string,
  overrides: Record<string, string> = {},
): Promise<World & { readonly running: Running }> {
  const where = await world({ model: { answer } });
  where.telegram.person(operatorId);
  return {
    ...where,
    running: await startGateway(
      where,
      { MNEME__learning__idleSeconds: "3600", MNEME__turns__perPersonPer10Min: "100000", ...overrides },
      unpaced,
    ),
  };
}

/** The platform's pace of one message a second would make three hundred turns last five minutes. */
const unpaced: typeof buildAdapters = async (config, deps) => {
  const adapters = await buildAdapters(config, deps);
  for (const adapter of adapters) {
    const pace = { chatPerSecond: 1_000, groupPerMinute: 60_000, botPerSecond: 100_000 };
    Object.defineProperty(adapter, "capabilities", { value: { ...adapter.capabilities, pace } });
  }
  return adapters;
};

const paragraph = "Something longer is said here so that the window fills up after a number of turns. ".repeat(6);

describe("a conversation that outgrows the window", () => {
  it("300 turns with a small window: every request is valid and within it, memory is intact, and turn 3 is found", async () => {
    const usage = usageCounter();
    const window = 16_000;
    let largest = 0;
    const where = await started(
      (request) => {
        if (isSummary(request)) return { text: summary(request), usage: usage(request) };
        if (!systemOf(request).includes("mneme")) return { text: "Nothing to save.", usage: usage(request) };
        largest = Math.max(largest, tokens(request));
        if (tokens(request) > window)
          return { fault: { kind: "status", status: 400, code: "context_length_exceeded", message: "too long" } };
        const said = lastUser(request);
        const turn = /turn (\d+)/.exec(said)?.[1] ?? "?";
        const last = request.messages.at(-1);
        if (Number(turn) % 50 === 7 && last?.role === "user") {
          const fact = `Likes number ${turn}`;
          return {
            calls: [{ name: "memory", arguments: { action: "add", target: "user", content: fact, evidence: `turn ${turn} is` } }],
            usage: usage(request),
          };
        }
        return { text: `Noted ${turn}. ${paragraph.slice(0, 200)}`, usage: usage(request), chunkSize: 0 };
      },
      {
        MNEME__model__contextTokens: String(window),
        MNEME__memory__nudgeInterval: "0",
        MNEME__memory__flushMinTurns: "0",
        MNEME__skills__nudgeInterval: "0",
      },
    );

    for (let turn = 1; turn <= 300; turn += 1) {
      await say(where, `This is turn ${turn}: the code word of turn ${turn} is ${turn === 3 ? "platypus" : `word${turn}`}. ${paragraph}`);
    }

    // Every request was valid, every turn was answered, none was too long.
    expect(where.model.refused).toEqual([]);
    expect(countRows(where, "select count(*) n from turns where state = 'answered'")).toBe(300);
    expect(largest).toBeLessThan(window);
    const sessions = rows<{ id: string; parent_id: string | null; end_reason: string | null }>(
      where,
      "select id, parent_id, end_reason from sessions order by created_at, id",
    );
    expect(sessions.length).toBeGreaterThan(5);
    expect(sessions.filter((session) => session.parent_id === null)).toHaveLength(1);
    expect(sessions.filter((session) => session.end_reason === null)).toHaveLength(1);
    // The person noticed nothing of it: it was prepared in the background.
    expect(textsIn(where).filter((text) => text.includes("condens"))).toEqual([]);
    // The first exchange and the word of turn 3, through all hand-overs.
    const [final] = where.model.requests.filter((request) => !isSummary(request.body)).slice(-1);
    expect(messageText(final?.body.messages[1])).toContain("This is turn 1:");
    expect(messageText(final?.body.messages[3])).toContain("<session-handover>");
    expect(messageText(final?.body.messages[3])).toContain("the code word of turn 3 is platypus");
    // Memory, written through the tool in many sessions.
    const memory = rows<{ after: string }>(where, "select after_text as after from memory_events where action = 'add' order by id").map(
      (row) => row.after,
    );
    expect(memory).toEqual([7, 57, 107, 157, 207, 257].map((turn) => `Likes number ${turn}`));
    // What was said in turn 3 is found from a later conversation, as one conversation with all that continued it.
    where.telegram.say(operatorId, "/new");
    await until("a new conversation", () => textsIn(where).some((text) => text.includes("new conversation")));
    where.telegram.say(operatorId, "/search platypus");
    await until("what was found", () => textsIn(where).some((text) => text.includes("platypus")), 15_000);
    const found =
      textsIn(where)
        .filter((text) => text.includes("platypus"))
        .at(-1) ?? "";
    expect(found).toContain("This is turn 3");
    // The chain is one conversation in the list, and it is taken up again where it stood.
    where.telegram.say(operatorId, "/sessions");
    await until("the list", () => textsIn(where).some((text) => text.includes("612 messages")), 15_000);
    where.telegram.say(operatorId, "/resume 1");
    await until(
      "it is taken up again",
      () => countRows(where, "select count(*) n from sessions where ended_at is null and parent_id is not null") === 1,
      15_000,
    );
    await say(where, "This is turn 301: go on");
    const resumed = where.model.requests.at(-1)?.body.messages ?? [];
    expect(resumed.map(messageText).some((text) => text.includes("<session-handover>"))).toBe(true);
    // Cost and cache share come from the turns' usage.
    const [sum] = rows<{ input: number; cached: number; output: number }>(
      where,
      "select sum(input_tokens) input, sum(cached_tokens) cached, sum(output_tokens) output from turns",
    );
    const share = (sum?.cached ?? 0) / (sum?.input ?? 1);
    process.stdout.write(
      `300 turns: ${sessions.length} sessions, ${sum?.input} tokens in (${Math.round(share * 100)} % cached), ${sum?.output} out, largest request ${largest}\n`,
    );
    expect(share).toBeGreaterThan(0.5);
  }, 600_000);

  it("SE-13: a server that refuses every longer history gets a fresh conversation with the summary, and the next message works", async () => {
    const where = await started((request) => {
      if (isSummary(request)) return "## Facts\nThe cat is called Miso.";
      const history = request.messages.filter((message) => message.role !== "system");
      if (history.length > 4) return { fault: { kind: "status", status: 400, code: "context_length_exceeded", message: "too long" } };
      return `Answer to: ${lastUser(request).slice(0, 20)}`;
    });

    for (const text of ["one", "two", "three", "four", "five"]) await say(where, text);

    const texts = textsIn(where);
    for (const text of ["one", "two", "three", "four", "five"]) expect(texts).toContain(`Answer to: ${text}`);
    expect(texts.filter((text) => text.includes("had become too long")).length).toBeGreaterThan(0);
    expect(countRows(where, "select count(*) n from turns where state = 'answered'")).toBe(5);
    const [active] = rows<{ id: string; parent_id: string | null }>(where, "select id, parent_id from sessions where ended_at is null");
    expect(active?.parent_id).not.toBeNull();
    expect(where.model.requests.at(-1)?.body.messages.some((message) => messageText(message).includes("Miso"))).toBe(true);
    expect(where.model.refused).toEqual([]);
  }, 60_000);

  it("SE-13: without a model that can summarise, excerpts stand in and the conversation goes on", async () => {
    const where = await started((request) => {
      if (isSummary(request)) return { fault: { kind: "status", status: 400 } };
      if (request.messages.length > 4)
        return { fault: { kind: "status", status: 400, code: "context_length_exceeded", message: "too long" } };
      return "Fine.";
    });

    await say(where, "my dog is called Rex");
    await say(where, "and my cat Miso");
    await say(where, "what is my dog called?");

    expect(textsIn(where).filter((text) => text === "Fine.")).toHaveLength(3);
    expect(where.model.requests.at(-1)?.body.messages.some((message) => messageText(message).includes("Rex"))).toBe(true);
  }, 60_000);

  it("condenses before the answer, with a word to the person, when nothing was prepared and the window is nearly full", async () => {
    const where = await started(
      (request) => {
        if (isSummary(request)) return { text: "## Facts\nAll of it." };
        return {
          text: "Fine.",
          usage: { prompt_tokens: where.model.requests.length > 20 ? 9_500 : 100, completion_tokens: 10, total_tokens: 110 },
        };
      },
      { MNEME__model__contextTokens: "10000", MNEME__model__parallel: "1", MNEME__agent__compressAt: "0.8" },
    );
    await where.running.gateway.parts.jobs.stop(0);
    for (let turn = 1; turn <= 22; turn += 1) await say(where, `message ${turn} ${paragraph.slice(0, 300)}`);

    expect(textsIn(where).filter((text) => text.includes("I am condensing"))).toHaveLength(1);
    expect(where.model.refused).toEqual([]);
    expect(countRows(where, "select count(*) n from sessions where parent_id is not null")).toBe(1);
  }, 60_000);

  it("/compress prepares a hand-over, says how much it saves, and the next message uses it", async () => {
    const where = await started((request) => (isSummary(request) ? "## Facts\nShort." : `Fine. ${paragraph}`), {
      MNEME__model__contextTokens: "100000",
    });
    where.telegram.say(operatorId, "/compress");
    await until("an answer", () => textsIn(where).length === 1);
    for (let turn = 1; turn <= 14; turn += 1) await say(where, `message ${turn} ${paragraph}`);

    where.telegram.say(operatorId, "/compress the plan");
    await until("the result", () => textsIn(where).some((text) => text.startsWith("Condensed: about")), 15_000);
    await say(where, "go on");

    expect(textsIn(where)[0]).toBe("There is nothing to condense here yet.");
    const asked = where.model.requests.find((request) => isSummary(request.body));
    expect(lastUser(asked?.body as WireRequest)).toContain("The person asked to keep in particular: the plan");
    const turns = () => where.model.requests.filter((request) => ["go on", "and on"].includes(lastUser(request.body)));
    const last = turns().at(-1)?.body.messages ?? [];
    expect(last.map(messageText).filter((text) => text.includes("<session-handover>"))).toHaveLength(1);
    expect(last.length).toBeLessThan(28);
    // Between two condensations each request extends the one before.
    await say(where, "and on");
    const [before, after] = turns()
      .slice(-2)
      .map((request) => JSON.stringify(request.body.messages).slice(0, -1));
    expect(after?.startsWith(before ?? "-")).toBe(true);
  }, 60_000);
});
