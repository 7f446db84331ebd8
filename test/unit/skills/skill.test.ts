import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patchText } from "../../../src/skills/patch.js";
import { checkSkill, isSkillName, readSkill, withCategory } from "../../../src/skills/skill.js";
import { skillMd } from "../../support/skill-setup.js";

function read(text: string) {
  const parsed = readSkill(text, "a-skill");
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.meta;
}

describe("reading a SKILL.md", () => {
  it("takes numbers, dates and words like yes as the text they are", () => {
    expect(read("---\nname: a-skill\ndescription: yes\nversion: 1.10\ntags: [2020-01-01, no, 007]\n---\nx")).toMatchObject({
      description: "yes",
      version: "1.10",
      tags: ["2020-01-01", "no", "007"],
    });
  });

  it("makes one line of a description that is written over several", () => {
    expect(read("---\nname: a-skill\ndescription: |\n  first\n  second\n\n  third\n---\nx").description).toBe("first second third");
  });

  it("finds version, tags and category also where other agents keep them", () => {
    const text = "---\nname: a-skill\ndescription: d\nmetadata:\n  version: 2\n  other:\n    tags: [x, y]\n    category: tools\n---\nx";

    expect(read(text)).toMatchObject({ version: "2", tags: ["x", "y"], category: "tools" });
  });

  it("does not end the front matter at a line of --- inside a block", () => {
    expect(read("---\nname: a-skill\ndescription: |\n  a\n  --- b\n---\n\ntext\n---\nmore").description).toBe("a --- b");
  });

  it("does not follow aliases without end", () => {
    const bomb = [
      "a: &a [x, x, x, x, x, x, x, x]",
      ..."bcdefgh".split("").map((key, at) => `${key}: &${key} [${`*${"abcdefgh"[at]}, `.repeat(8)}x]`),
    ];
    const started = performance.now();

    expect(checkSkill(`---\nname: a-skill\ndescription: d\n${bomb.join("\n")}\n---\nx`, "a-skill")).toMatchObject({ ok: false });
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it("says what is wrong with a file that is no skill", () => {
    expect(readSkill("# Just a page", "a-skill")).toEqual({ ok: false, error: "SKILL.md has no front matter between two lines of ---." });
    expect(readSkill("---\nname: a-skill\n---\n# Heading only", "a-skill")).toMatchObject({ ok: false, error: /no description/u });
  });

  it("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (noise) => {
        readSkill(noise, "a-skill");
        readSkill(`---\n${noise}\n---\n`, "a-skill");
        checkSkill(`---\n${noise}\n---\nx`, "a-skill");
      }),
    );
  });
});

describe("checking a SKILL.md before it is written", () => {
  it.each<[string, string, RegExp]>([
    ["no front matter", "# A skill", /must begin with front matter/u],
    ["front matter that never ends", "---\nname: a-skill\ndescription: d\n", /must begin with front matter/u],
    ["broken YAML", "---\nname: a-skill\ndescription: Use when: now\n---\nx", /not valid YAML/u],
    ["a key that stands twice", "---\nname: a-skill\nname: a-skill\ndescription: d\n---\nx", /not valid YAML/u],
    ["a list instead of keys", "---\n- a\n---\nx", /not valid YAML/u],
    ["another name", skillMd("b-skill", "d"), /must say name: a-skill, not b-skill/u],
    ["no name", "---\ndescription: d\n---\nx", /must say name: a-skill/u],
    ["no description", "---\nname: a-skill\n---\nx", /needs a description/u],
    ["a description of 1,025 characters", skillMd("a-skill", "d".repeat(1025)), /1025 characters, 1024 are allowed/u],
    ["no text", "---\nname: a-skill\ndescription: d\n---\n\n", /no text below/u],
    ["more than 100,000 characters", skillMd("a-skill", "d", "x".repeat(100_000)), /100000 are allowed/u],
    ["half a character", skillMd("a-skill", "d", "\ud800"), /no text file can hold/u],
  ])("refuses %s", (_what, text, error) => {
    expect(checkSkill(text, "a-skill")).toMatchObject({ ok: false, error: expect.stringMatching(error) });
  });

  it("counts characters, not bytes or halves", () => {
    expect(checkSkill(skillMd("a-skill", "𝒟".repeat(1024)), "a-skill").ok).toBe(true);
  });

  it("puts a category into the front matter and leaves all else as it is", () => {
    const text = skillMd("a-skill", "d");

    expect(withCategory(text, "finance")).toEqual({ text: text.replace("\n---\n\n", "\ncategory: finance\n---\n\n") });
    expect(withCategory("---\nname: a\ncategory: x\n---\nb", "x")).toEqual({ text: "---\nname: a\ncategory: x\n---\nb" });
    expect(withCategory("---\nname: a\ncategory: x\n---\nb", "y")).toMatchObject({ error: /give one of them/u });
    expect(withCategory(text, "a\nname: b")).toMatchObject({ error: /one line/u });
  });

  it.each(["", "..", ".a", "-a", "A", "a/b", "a\\b", "a b", "a\u0000", "ü", "a".repeat(65)])("ME-20: takes %j for no name", (name) => {
    expect(isSkillName(name)).toBe(false);
  });
});

describe("patching a text", () => {
  const text = "# Steps\n\n1. Read the file.\n2. Check the sums.\n3. Check the sums.\n";

  it("replaces what stands there exactly once", () => {
    expect(patchText(text, "Read the file", "Read the whole file", false)).toMatchObject({ ok: true, count: 1 });
  });

  it("refuses what stands there twice and says where, unless all are meant", () => {
    expect(patchText(text, "Check the sums", "Sum up", false)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/2 times \(lines 4, 5\)/u),
    });
    expect(patchText(text, "Check the sums", "Sum up", true)).toMatchObject({ ok: true, count: 2 });
  });

  it("shows the nearest lines, with their numbers, when nothing matches", () => {
    const result = patchText(text, "1. Read the flie!", "x", false);

    expect(result).toMatchObject({ ok: false, near: [expect.stringContaining("line 3: 1. Read the file.")] });
    expect(patchText(text, "quite another matter: 77", "x", false)).toMatchObject({ ok: false, near: [] });
  });

  it("shows several lines together when several were looked for", () => {
    expect(patchText(text, "  1. Read  the file.\n  2. Check the sum.", "x", false)).toMatchObject({
      near: [expect.stringContaining("line 3: 1. Read the file.\n2. Check the sums.")],
    });
  });

  it("finds plain line ends in a file with CRLF, and keeps its line ends", () => {
    expect(patchText("a\r\nb\r\nc", "a\nb", "x\ny", false)).toMatchObject({ ok: true, text: "x\r\ny\r\nc" });
  });

  it("takes special characters of patterns for themselves", () => {
    expect(patchText("a.*b $& c", ".*b $&", "$1 $& \\n", false)).toMatchObject({ ok: true, text: "a$1 $& \\n c" });
  });

  it("gives back the first text when a patch is turned around", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const marked = `${before}<<mark>>${after}`;
        const there = patchText(marked, "<<mark>>", "<<other>>", false);
        if (!there.ok || before.includes("<<") || after.includes("<<")) return;
        expect(patchText(there.text, "<<other>>", "<<mark>>", false)).toMatchObject({ text: marked });
      }),
    );
  });
});
