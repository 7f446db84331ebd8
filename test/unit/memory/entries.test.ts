import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyChange, parseEntries, sizeOf, usageOf, type Applied } from "../../../src/memory/entries.js";
import { tokenOverlap } from "../../../src/memory/likeness.js";

const limit = 1375;

function done(applied: Applied): Extract<Applied, { ok: true }> {
  if (!applied.ok) throw new Error(`refused: ${applied.refusal.kind}`);
  return applied;
}

const entry = fc
  .array(fc.constantFrom("alpha", "beta", "gamma", "茶", "喜欢", "§", "a §b", "délta", "😀", "line\nbreak", "1,375"), {
    minLength: 1,
    maxLength: 6,
  })
  .map((words) => words.join(" ").trim())
  .filter((text) => !/^\s*§\s*$/mu.test(text));

describe("memory entries", () => {
  it("parts entries at a line that holds the sign alone", () => {
    expect(parseEntries("one\n§\ntwo § still two\n§\nthree\n")).toEqual(["one", "two § still two", "three"]);
  });

  it("reads files written by other editors: CRLF, spaces, blank entries, signs at both ends", () => {
    expect(parseEntries("\uFEFF§\r\none\r\n§\r\n\r\n§ \r\ntwo\r\n§")).toEqual(["one", "two"]);
    expect(parseEntries("")).toEqual([]);
    expect(parseEntries("\n \n")).toEqual([]);
  });

  it("counts code points with delimiters, so that emoji and Chinese count one each", () => {
    expect(sizeOf(["😀", "茶茶"])).toBe(6);
    expect(usageOf(["x".repeat(990)], 1375)).toBe("72% — 990/1,375 chars");
    expect(usageOf(["x".repeat(1210)], 2200)).toBe("55% — 1,210/2,200 chars");
    expect(usageOf([], 2200)).toBe("0% — 0/2,200 chars");
  });

  it("adds, replaces and removes", () => {
    const added = done(applyChange("one\n", { action: "add", content: " two " }, limit));
    const replaced = done(applyChange(added.text, { action: "replace", oldText: "on", content: "uno" }, limit));
    const removed = done(applyChange(replaced.text, { action: "remove", oldText: "two" }, limit));

    expect([added.text, replaced.text, removed.text]).toEqual(["one\n§\ntwo\n", "uno\n§\ntwo\n", "uno"]);
    expect(replaced).toMatchObject({ before: "one", after: "uno" });
  });

  it("ME-02: leaves 27 of 28 entries byte-equal when one near the limit is replaced", () => {
    const entries = Array.from({ length: 28 }, (_, index) => `entry ${index} ${"abcdefghij".repeat(4).slice(0, 36)}`);
    const text = entries.join("\n§\n");
    expect(sizeOf(entries)).toBeGreaterThan(1300);

    const { text: next } = done(applyChange(text, { action: "replace", oldText: "entry 13 ", content: "something else" }, limit));

    expect(parseEntries(next)).toEqual(entries.with(13, "something else"));
  });

  it("ME-02: never changes another byte, whatever the file looks like", () => {
    const between = fc.constantFrom("\n§\n", "\r\n§\r\n", "\n\n§ \n", "\n§\n\n§\n");
    const file = fc.array(fc.tuple(entry, between), { minLength: 1, maxLength: 12 }).map((pairs) => pairs.flat().slice(0, -1).join(""));
    fc.assert(
      fc.property(file, fc.nat(), fc.constantFrom("replace", "remove"), (text, pick, action) => {
        const entries = parseEntries(text);
        const target = entries[pick % Math.max(1, entries.length)] ?? "";
        const applied = applyChange(
          text,
          action === "replace" ? { action, oldText: target, content: "brand new words here" } : { action: "remove", oldText: target },
          100_000,
        );
        if (!applied.ok) return;
        const others = entries.filter((other) => other !== target);

        expect(parseEntries(applied.text).filter((other) => other !== "brand new words here")).toEqual(others);
      }),
    );
  });

  it("ME-02: keeps every byte of the file in front of an added entry", () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 8 }), (entries) => {
        const text = entries.join("\n§\n");
        const { text: next } = done(applyChange(text, { action: "add", content: "quite another thing" }, 100_000));

        expect(next.startsWith(text)).toBe(true);
        expect(parseEntries(next)).toEqual([...parseEntries(text), "quite another thing"]);
      }),
    );
  });

  it("ME-03: takes the same text with other case, spaces and final mark as one entry", () => {
    const text = "Prefers tea over coffee.";
    const applied = done(applyChange(text, { action: "add", content: "prefers  TEA over coffee " }, limit));

    expect(applied).toMatchObject({ changed: false, text });
    expect(done(applyChange("cafe\u0301", { action: "add", content: "Café" }, limit)).changed).toBe(false);
  });

  it("refuses a near duplicate and shows the existing entry", () => {
    const text = "Works as a nurse in the children's ward in Taipei";
    const applied = applyChange(text, { action: "add", content: "Works as a nurse in the children's ward in Taipei now" }, limit);

    expect(applied).toEqual({ ok: false, refusal: { kind: "near-duplicate", existing: text } });
    expect(tokenOverlap("Prefers tea in the morning", "Prefers coffee in the morning")).toBeLessThan(0.85);
    expect(tokenOverlap("喜欢喝绿茶", "喜欢喝红茶")).toBeLessThan(0.85);
  });

  it("ME-04: refuses what does not fit and never cuts", () => {
    const text = "x".repeat(limit - 4);
    expect(applyChange(text, { action: "add", content: "y" }, limit).ok).toBe(true);

    expect(applyChange(text, { action: "add", content: "yz" }, limit)).toEqual({
      ok: false,
      refusal: { kind: "over-limit", size: limit - 4, entrySize: 2, needed: limit + 1, limit },
    });
  });

  it("lets a file that is over its limit by hand only become smaller", () => {
    const text = `${"x".repeat(1400)}\n§\nsecond entry`;

    expect(applyChange(text, { action: "add", content: "more" }, limit).ok).toBe(false);
    expect(applyChange(text, { action: "replace", oldText: "second", content: "a much longer second entry" }, limit).ok).toBe(false);
    expect(done(applyChange(text, { action: "replace", oldText: "second", content: "short" }, limit)).changed).toBe(true);
    expect(done(applyChange(text, { action: "remove", oldText: "second" }, limit)).changed).toBe(true);
  });

  it("refuses empty content and a separator line inside an entry", () => {
    expect(applyChange("", { action: "add", content: " \n" }, limit)).toEqual({ ok: false, refusal: { kind: "empty" } });
    expect(applyChange("", { action: "add", content: "a\n § \nb" }, limit)).toEqual({ ok: false, refusal: { kind: "delimiter" } });
    expect(applyChange("a", { action: "remove", oldText: " " }, limit)).toEqual({ ok: false, refusal: { kind: "empty" } });
  });

  it("needs a text that names one entry; identical ones count as one", () => {
    const text = "likes tea\n§\nlikes rain\n§\nlikes tea";

    expect(applyChange(text, { action: "remove", oldText: "likes" }, limit)).toEqual({
      ok: false,
      refusal: { kind: "ambiguous", beginnings: ["likes tea", "likes rain"] },
    });
    expect(applyChange(text, { action: "remove", oldText: "snow" }, limit)).toEqual({ ok: false, refusal: { kind: "no-match" } });
    expect(done(applyChange(text, { action: "remove", oldText: "tea" }, limit)).text).toBe("likes rain");
    expect(done(applyChange(text, { action: "replace", oldText: "tea", content: "hates fog" }, limit)).text).toBe(
      "hates fog\n§\nlikes rain",
    );
    expect(done(applyChange(text, { action: "remove", oldText: "LIKES  rain" }, limit)).text).toBe("likes tea\n§\nlikes tea");
  });

  it("prefers the entry that is the named text as a whole", () => {
    expect(done(applyChange("tea\n§\ngreen tea", { action: "remove", oldText: "tea" }, limit)).text).toBe("green tea");
  });

  it("is harmless to run again", () => {
    const change = { action: "replace", oldText: "one", content: "uno dos" } as const;
    const { text } = done(applyChange("one\n§\ntwo", change, limit));

    expect(done(applyChange(text, change, limit))).toMatchObject({ changed: false, text });
  });

  it("merges when the replacement is already stored elsewhere", () => {
    expect(done(applyChange("old\n§\nnew thing", { action: "replace", oldText: "old", content: "New thing." }, limit)).text).toBe(
      "new thing",
    );
  });
});
