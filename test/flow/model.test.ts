/** Models that fail, hang, or say what nobody should see, through the whole gateway. */
import { describe, expect, it } from "vitest";
import { countRows, operatorId, quiet, startGateway, textsIn, until, world, type Running, type World } from "../support/gateway.js";

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<World & { readonly running: Running }> {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  return { ...where, running: await startGateway(where, overrides) };
}

describe("a model in trouble", () => {
  it("MC-12: a model that is down gives one sentence with a remedy, and the next message works", async () => {
    const where = await started();
    where.model.push(...Array.from({ length: 3 }, () => ({ fault: { kind: "status", status: 503 } as const })));

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1, 15_000);
    await quiet(where);
    where.model.answerWith(() => "Answer.");
    where.telegram.say(operatorId, "again");
    await where.telegram.waitSent(2, 15_000);

    expect(textsIn(where)[0]).toBe("The language model cannot be reached. Try again in a minute; if it stays so, tell the operator.");
    expect(textsIn(where)[1]).toBe("Answer.");
    expect(countRows(where, "select count(*) n from inbox where disposition = 'failed'")).toBe(1);
  }, 30_000);

  it("MC-13: neither the model's key nor the bot's token reaches chat or log", async () => {
    const where = await world({ model: { apiKey: "sk-the-right-one-0000" } });
    where.telegram.person(operatorId);
    const wrong = "sk-test-1234567890-wrong";
    const { log } = await startGateway(where, { OPENAI_API_KEY: wrong, MNEME_LOG_LEVEL: "debug" });
    where.telegram.fail("sendMessage", { times: 1, status: 500, description: `Internal error at /bot${where.telegram.token}/sendMessage` });
    where.telegram.fail("sendChatAction", { hangUp: "before" });

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1, 15_000);
    await quiet(where, 15_000);

    const stored = countRows(where, `select count(*) n from turns where coalesce(reason, '') like '%${wrong}%'`);
    const shown = textsIn(where).join("\n");
    expect(shown).toContain("refused my key");
    expect(shown).not.toContain("sk-");
    expect(stored).toBe(0);
    // This log is in front of the redaction that every line of a real one passes: even here no secret may stand.
    expect(log.lines.filter((line) => JSON.stringify(line).includes(wrong))).toEqual([]);
    expect(log.lines.filter((line) => JSON.stringify(line).includes(where.telegram.token))).toEqual([]);
  }, 30_000);

  it("MC-10: a stream that falls silent ends within the idle limit, and what was shown is not left unfinished", async () => {
    const where = await started({ MNEME__agent__idleTimeoutMs: "1000" });
    where.model.push({ text: "A beginning that goes", chunkSize: 4, delayMs: 300, fault: { kind: "stall", after: 6 } });

    where.telegram.say(operatorId, "hello");
    await until("an end", () => countRows(where, "select count(*) n from turns where state <> 'running'") === 1, 15_000);
    await quiet(where);

    expect(textsIn(where)).toEqual([expect.stringMatching(/^A beginning[\s\S]*Try again/) as string]);
    expect(textsIn(where)[0]).not.toContain("▍");
  }, 30_000);

  it.each(["", "  \n", "\u200c"])("MC-11: an answer nobody can see (%j) becomes one clear sentence after one repeat", async (blank) => {
    const where = await started();
    where.model.push({ text: blank }, { text: blank });

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(textsIn(where)).toEqual(["The language model gave no answer. Ask again, perhaps in other words."]);
    expect(where.model.requests).toHaveLength(2);
  });

  it("MC-07: what the model thinks is never shown, in the preview neither", async () => {
    const where = await started();
    where.model.push({ text: "<think>the secret plan</think>Hello, this is the answer itself.", chunkSize: 5, delayMs: 150 });

    where.telegram.say(operatorId, "hello");
    await until("the answer", () => textsIn(where).includes("Hello, this is the answer itself."), 15_000);

    expect(JSON.stringify(where.telegram.sent.map((stored) => [stored.message.text, ...stored.history]))).not.toContain("secret plan");
  }, 30_000);

  it("turns.timeoutMs ends a model that hangs with a sentence", async () => {
    const where = await started({ MNEME__turns__timeoutMs: "1000" });
    where.model.push({ fault: { kind: "hang" } });

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1);
    where.telegram.say(operatorId, "next");
    await where.telegram.waitSent(2);

    expect(textsIn(where)).toEqual(["That took too long and was stopped. Try again with a smaller step.", "Answer."]);
    expect(where.model.refused).toEqual([]);
  });

  it("a model that cannot be reached at all is told to the person, not the address", async () => {
    const where = await started({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1, 20_000);

    expect(textsIn(where)[0]).toContain("cannot be reached");
    expect(textsIn(where)[0]).not.toContain("127.0.0.1");
  }, 30_000);
});
