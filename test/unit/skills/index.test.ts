import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/skills/host-files.js";
import { SkillIndex } from "../../../src/skills/index-files.js";
import { indexLimit, renderIndex, type IndexedSkill } from "../../../src/skills/index-text.js";
import { Shelves } from "../../../src/skills/shelf-files.js";
import { collectingLogger } from "../../support/runtime.js";
import { skillMd } from "../../support/skill-setup.js";
import { tempHome } from "../../support/temp-home.js";

const person = { id: "p1", kind: "person" } as const;
const group = { id: "g1", kind: "group" } as const;

function setup(dir = tempHome().dir) {
  const logger = collectingLogger();
  const shelves = new Shelves({ logger });
  const index = new SkillIndex({ dataDir: dir, shelves, host: createHost({ system: "linux", searchPath: "/bin" }), logger });
  return { dir, shelves, index, logger };
}

function put(dir: string, where: string, name: string, description: string): string {
  const folder = join(dir, where, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "SKILL.md"), skillMd(name, description));
  return join(folder, "SKILL.md");
}

function many(count: number, description: (at: number) => string): IndexedSkill[] {
  return Array.from({ length: count }, (_unused, at) => ({
    meta: { name: `skill-${String(at).padStart(3, "0")}`, description: description(at), tags: [], platforms: [], commands: [] },
    owner: { scope: at % 2 === 0 ? "shared" : "space", id: at % 2 === 0 ? "" : "p1" },
    changedAt: at,
  }));
}

describe("the index of skills in the prompt", () => {
  it("leaves no trace when there are no skills", () => {
    expect(setup().index.text(person)).toBe("");
  });

  it("makes looking through it compulsory and groups by category", () => {
    const { dir, index } = setup();
    put(dir, "skills", "bank-csv", "Turns statements into tables.\ncategory: finance");
    put(dir, "spaces/p1/skills", "release-notes", "Writes release notes.");

    expect(index.text(person)).toBe(
      [
        "# Skills",
        "Before every reply you must look through this list. When a skill fits the task, or might, load it with skill_view and follow it; only when none does, go on without one.",
        "## finance",
        "- bank-csv: Turns statements into tables.",
        "## general",
        "- release-notes: Writes release notes.",
      ].join("\n"),
    );
  });

  it("ME-21: stays within 4,000 characters with 120 skills and says how many more there are", () => {
    const text = renderIndex(many(120, (at) => `Does the thing number ${at}, with some care and in ${"several ".repeat(20)}steps.`));

    expect(text.length).toBeLessThanOrEqual(4000);
    const shown = text.match(/^- /gmu)?.length ?? 0;
    expect(text.endsWith(`\n… ${120 - shown} more: skills_list`)).toBe(true);
    expect(shown).toBeGreaterThan(25);
  });

  it("keeps the space's own and the newest when not all fit, and shortens descriptions before it leaves a skill out", () => {
    const crowded = renderIndex(many(120, () => "d".repeat(200)));
    const roomy = renderIndex(many(20, () => "d".repeat(200)));

    expect(crowded).toContain("skill-119");
    expect(crowded).not.toContain("skill-118");
    expect(roomy).not.toContain("more: skills_list");
    expect(roomy.match(/^- /gmu)).toHaveLength(20);
  });

  it("never exceeds the limit and gives equal bytes for equal skills in any order", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 400 }), { maxLength: 80 }), (descriptions) => {
        const skills = many(descriptions.length, (at) => (descriptions[at] ?? "").replaceAll(/\s+/gu, " "));
        const text = renderIndex(skills);
        expect([...text].length).toBeLessThanOrEqual(indexLimit);
        expect(renderIndex(skills.toReversed())).toBe(text);
      }),
      { numRuns: 50 },
    );
  });

  it("lets a space's skill stand before a shared one of its name in a person's space only", () => {
    const { dir, index } = setup();
    put(dir, "skills", "notes", "The shared one.");
    put(dir, "spaces/p1/skills", "notes", "Their own.");
    put(dir, "spaces/g1/skills", "notes", "The group's.");
    put(dir, "spaces/g1/skills", "other", "The group's other.");

    expect(index.text(person)).toContain("- notes: Their own.");
    expect(index.text(group)).toContain("- notes: The shared one.");
    expect(index.text(group)).toContain("- other: The group's other.");
    expect(index.text({ id: "p2", kind: "person" })).not.toContain("other");
  });
});

describe("the caches of the index", () => {
  it("see a skill that was changed, added or deleted at the next look, without a restart", () => {
    const { dir, index } = setup();
    put(dir, "skills", "one", "First.");
    expect(index.text(person)).toContain("- one: First.");

    put(dir, "skills", "one", "Other.");
    expect(index.text(person)).toContain("- one: Other.");
    put(dir, "spaces/p1/skills", "two", "Second.");
    expect(index.text(person)).toContain("- two: Second.");
    rmSync(join(dir, "skills", "one"), { recursive: true });
    expect(index.text(person)).not.toContain("- one:");
  });

  it("see a change that keeps size and modification time", () => {
    const { dir, index } = setup();
    const file = put(dir, "skills", "one", "First.");
    utimesSync(file, 1_700_000_000, 1_700_000_000);
    expect(index.text(person)).toContain("First.");

    put(dir, "skills", "one", "Other.");
    utimesSync(file, 1_700_000_000, 1_700_000_000);
    expect(index.text(person)).toContain("Other.");
  });

  it("read no SKILL.md a second time: not in this process, and not after a restart", () => {
    const first = setup();
    for (let at = 0; at < 20; at += 1) put(first.dir, "skills", `skill-${at}`, `Number ${at}.`);
    const text = first.index.text(person);
    first.index.text(person);
    expect(first.shelves.reads).toBe(20);

    const second = setup(first.dir);
    expect(second.index.text(person)).toBe(text);
    expect(second.shelves.reads).toBe(0);
    put(first.dir, "skills", "skill-7", "Changed.");
    expect(second.index.text(person)).toContain("Changed.");
    expect(second.shelves.reads).toBe(1);
  });

  it.each(["", "{", '{"version":1,"skills":[{"folder":5}]}', '{"version":99,"skills":[]}'])(
    "are made anew from a damaged snapshot (%j)",
    (damaged) => {
      const first = setup();
      put(first.dir, "skills", "one", "First.");
      first.index.text(person);
      const snapshot = join(first.dir, "skills/.index.json");
      expect(JSON.parse(readFileSync(snapshot, "utf8"))).toMatchObject({ skills: [{ folder: "one" }] });
      writeFileSync(snapshot, damaged);

      const second = setup(first.dir);
      expect(second.index.text(person)).toContain("- one: First.");
      expect(JSON.parse(readFileSync(snapshot, "utf8"))).toMatchObject({ skills: [{ folder: "one" }] });
    },
  );

  it("hold at most 100 rendered indexes", () => {
    const { dir, index } = setup();
    put(dir, "skills", "one", "First.");
    for (let at = 0; at < 150; at += 1) index.text({ id: `p${at}`, kind: "person" });

    expect(index.remembered).toBe(100);
  });

  it("follow a data folder that was copied elsewhere", () => {
    const first = setup();
    put(first.dir, "skills", "one", "First.");
    first.index.text(person);
    const { dir } = tempHome();
    cpSync(first.dir, dir, { recursive: true });

    expect(setup(dir).index.text(person)).toContain("- one: First.");
  });
});

describe("what lies in a skills folder and is no skill", () => {
  it("is left out, with a word in the log where it looks like one", () => {
    const { dir, index, logger } = setup();
    put(dir, "skills", "good", "Fine.");
    put(dir, "skills", ".hidden", "Hidden.");
    put(dir, "skills", "Bad Name", "Wrong name.");
    mkdirSync(join(dir, "skills/empty"), { recursive: true });
    mkdirSync(join(dir, "skills/no-header"), { recursive: true });
    writeFileSync(join(dir, "skills/no-header/SKILL.md"), "# Nothing");
    writeFileSync(join(dir, "skills/README.md"), "# About");

    expect(index.visible(person).map(({ meta }) => meta.name)).toEqual(["good"]);
    expect(logger.lines).toEqual([
      expect.objectContaining({ level: "warn", fields: expect.objectContaining({ error: expect.stringContaining("no front matter") }) }),
    ]);
  });

  it("ME-20: a link out of the folder is not followed, as a folder or as a SKILL.md", () => {
    const { dir, index } = setup();
    const elsewhere = tempHome().dir;
    put(elsewhere, "outside", "linked", "Not ours.");
    mkdirSync(join(dir, "skills/file-link"), { recursive: true });
    symlinkSync(join(elsewhere, "outside/linked"), join(dir, "skills/linked"));
    symlinkSync(join(elsewhere, "outside/linked/SKILL.md"), join(dir, "skills/file-link/SKILL.md"));

    expect(index.text(person)).toBe("");
  });

  it("a name that stands twice counts once, the one not in a category folder", () => {
    const { dir, index } = setup();
    put(dir, "skills/writing", "notes", "In a category.");
    put(dir, "skills", "notes", "At the top.");

    expect(index.visible(person).map(({ meta }) => meta.description)).toEqual(["At the top."]);
  });
});
