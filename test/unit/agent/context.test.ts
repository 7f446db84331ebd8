import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelEntries } from "../../../src/agent/context.js";
import { sealTranscript, unknownOutcome, type Entry } from "../../../src/domain/transcript.js";

const id = fc.constantFrom("a", "b", "c");
const entry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ role: fc.constant("user" as const), content: fc.string() }),
  fc.record({ role: fc.constant("assistant" as const), content: fc.string() }),
  fc.record({
    role: fc.constant("assistant" as const),
    content: fc.constant(""),
    toolCalls: fc.uniqueArray(id, { minLength: 1 }).map((ids) => ids.map((one) => ({ id: one, name: "t", arguments: "" }))),
  }),
  fc.record({ role: fc.constant("tool" as const), callId: id, name: fc.constant("t"), content: fc.string() }),
);
const transcript = fc.array(entry, { maxLength: 25 });

/** Every call answered exactly once, directly after its message, and no result without a call. */
function isPaired(entries: readonly Entry[]): boolean {
  let open: string[] = [];
  for (const one of entries) {
    if (one.role === "tool") {
      if (open.shift() !== one.callId) return false;
      continue;
    }
    if (open.length > 0) return false;
    open = one.role === "assistant" ? (one.toolCalls ?? []).map((call) => call.id) : [];
  }
  return open.length === 0;
}

describe("the transcript as the model gets it", () => {
  it("MC-05, MC-06: has every call answered once, directly after it, whatever was stored and wherever it was cut", () => {
    fc.assert(
      fc.property(transcript, fc.nat(25), (entries, from) => {
        expect(isPaired(sealTranscript(entries.slice(from)))).toBe(true);
        const sent = modelEntries({ history: entries.slice(from), user: { role: "user", content: "now" }, entries: [] });
        expect(isPaired(sent)).toBe(true);
        expect(sent.at(-1)).toEqual({ role: "user", content: "now" });
      }),
    );
  });

  it("is unchanged where it was valid, and sealing twice changes nothing", () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const sealed = sealTranscript(entries);
        expect(sealTranscript(sealed)).toEqual(sealed);
        expect(sealed.filter((one) => one.role !== "tool")).toEqual(entries.filter((one) => one.role !== "tool"));
      }),
    );
  });

  it("MC-06: gives an open call the result that its outcome is unknown", () => {
    const sealed = sealTranscript([{ role: "assistant", content: "", toolCalls: [{ id: "a", name: "t", arguments: "" }] }]);

    expect(sealed.at(-1)).toEqual({ role: "tool", callId: "a", name: "t", content: unknownOutcome });
  });

  it("only grows at its end while a turn goes on", () => {
    fc.assert(
      fc.property(transcript, transcript, transcript, (history, first, more) => {
        const user = { role: "user" as const, content: "now" };
        const before = modelEntries({ history, user, tail: "recalled", entries: sealTranscript(first) });
        const after = modelEntries({ history, user, tail: "recalled", entries: [...sealTranscript(first), ...sealTranscript(more)] });
        expect(after.slice(0, before.length)).toEqual(before);
      }),
    );
  });
});
