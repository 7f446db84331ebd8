import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { skillCommands } from "../../../src/commands/skills.js";
import type { CommandContext, CommandReply } from "../../../src/gateway/commands.js";
import type { InboundMessage } from "../../../src/domain/message.js";
import { byCommand, plainRules, skillMd, skillSetup, type SkillSetup } from "../../support/skill-setup.js";
import { systemClock } from "../../support/runtime.js";
import { tempHome } from "../../support/temp-home.js";

const person = { id: "p1", kind: "person" } as const;

interface Who {
  readonly role?: "operator" | "user" | "guest";
  readonly accountId?: string;
  readonly inGroup?: boolean;
  readonly language?: "en" | "zh";
}

interface Bench extends SkillSetup {
  readonly dir: string;
  readonly rebuilt: object[];
  readonly run: (line: string, who?: Who) => Promise<CommandReply>;
}

async function bench(enabled = true): Promise<Bench> {
  const { dir } = tempHome();
  const made = await skillSetup(dir);
  onTestFinished(() => made.db.close());
  const rebuilt: object[] = [];
  const sessions = { rebuild: (where: object) => Promise.resolve(void rebuilt.push(where)) };
  const commands = skillCommands({ files: made.files, sessions, clock: systemClock, timeZone: "UTC", enabled });
  return {
    ...made,
    dir,
    rebuilt,
    async run(line, { role = "user", accountId = "1", inGroup = false, language = "en" } = {}) {
      const [, name = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/u.exec(line) ?? [];
      const command = commands.find((one) => one.name === name);
      if (command === undefined) throw new Error(`no command ${name}`);
      const context: CommandContext = {
        name,
        args,
        message: {} as InboundMessage,
        speaker: { platform: "test", accountId, personId: "p1", role, displayName: "Ann" },
        place: { key: "k", spaceId: inGroup ? "g1" : "p1", spaceKind: inGroup ? "group" : "person", origin: "o" },
        inGroup,
        language,
        form: (word) => `/${word}`,
      };
      return command.run(context);
    },
  };
}

async function withSkill(bed: Bench, name = "tables"): Promise<void> {
  const change = { action: "create", content: skillMd(name, `How to do ${name}.`) } as const;
  await bed.files.change(person, name, change, plainRules, { ...byCommand, origin: "turn", sessionId: "s1" });
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe("/skills", () => {
  it("lists what is known to do here, and says when there is nothing", async () => {
    const bed = await bench();

    expect((await bed.run("/skills")).markdown).toBe("There are no skills yet.");
    await withSkill(bed);
    put(join(bed.dir, "skills/lists/SKILL.md"), skillMd("lists", "Shared lists."));
    expect((await bed.run("/skills list")).markdown).toBe("**Skills:**\n\n- **lists**: Shared lists.\n- **tables**: How to do tables.");
    expect((await bed.run("/skills list", { inGroup: true })).markdown).not.toContain("tables");
    expect((await bed.run("/skills fly")).markdown).toBe("Use `/skills` with list, log, undo or share.");
  });

  it("says that skills are switched off", async () => {
    expect((await (await bench(false)).run("/skills")).markdown).toBe("Skills are switched off in the settings.");
  });

  it("ME-21: is one command, whatever the number of skills", async () => {
    const bed = await bench();
    for (let at = 0; at < 120; at += 1) put(join(bed.dir, `skills/skill-${at}/SKILL.md`), skillMd(`skill-${at}`, "One of many."));

    expect((await bed.run("/skills")).markdown.match(/^- /gmu)).toHaveLength(120);
    const sessions = { rebuild: () => Promise.resolve() };
    expect(skillCommands({ files: bed.files, sessions, clock: systemClock, timeZone: "UTC", enabled: true })).toHaveLength(2);
  });

  it("shows what changed, where, with the lines, and what reviews say of overlaps", async () => {
    const bed = await bench();
    await withSkill(bed);
    const patch = { action: "patch", path: "SKILL.md", oldString: "1. Do it.", newString: "1. Do it well.", replaceAll: false } as const;
    await bed.files.change(person, "tables", patch, plainRules, { ...byCommand, origin: "review", jobId: "j1" });
    await bed.files.noteOverlap(person, ["tables", "lists"], "Both explain tables.", { ...byCommand, origin: "review", jobId: "j1" });

    const lines = (await bed.run("/skills log")).markdown.replaceAll(/\d\d\/\d\d\/\d{4}, \d\d:\d\d/gu, "WHEN").split("\n");
    expect(lines).toEqual([
      "**Changes to skills:**",
      "",
      "- WHEN · tables, lists: overlap noted: Both explain tables. · in a review",
      "- WHEN · tables: patched · in a review",
      "  − 1. Do it.",
      "  + 1. Do it well.",
      "- WHEN · tables: created · in a conversation",
    ]);
    expect((await bed.run("/skills log", { language: "zh" })).markdown).toContain("已修补 · 来自回顾");
  });

  it("takes changes back, further each time, and has running sessions told", async () => {
    const bed = await bench();
    await withSkill(bed);
    await withSkill(bed, "lists");

    expect((await bed.run("/skills undo")).markdown).toBe("Taken back: the last change of the skill lists.");
    expect((await bed.run("/skills undo")).markdown).toContain("tables");
    expect((await bed.run("/skills undo")).markdown).toBe("There is no change of a skill here that you could take back.");
    expect(bed.rebuilt).toEqual([{ spaceId: "p1" }, { spaceId: "p1" }]);
    expect(bed.index.visible(person)).toEqual([]);
  });

  it("lets a member of a group take back their own change only, an operator any, a guest none", async () => {
    const bed = await bench();
    const change = { action: "create", content: skillMd("tables", "d") } as const;
    await bed.files.change({ id: "g1", kind: "group" }, "tables", change, plainRules, { ...byCommand, accountKey: "test:7" });

    expect((await bed.run("/skills undo", { inGroup: true })).markdown).toContain("no change");
    expect((await bed.run("/skills undo", { inGroup: true, accountId: "7", role: "guest" })).markdown).toContain("no change");
    expect((await bed.run("/skills undo", { inGroup: true, role: "operator" })).markdown).toContain("Taken back");
  });

  it("publishes by an operator only, and only after they saw the very text", async () => {
    const bed = await bench();
    await withSkill(bed);
    const other = { id: "p2", kind: "person" } as const;
    const asOperator = { role: "operator" } as const;

    expect((await bed.run("/skills share tables")).markdown).toContain("operator");
    expect((await bed.run("/skills share tables confirm", asOperator)).markdown).toContain("Look at it again with `/skills share tables`");
    expect(bed.files.find(other, "tables")).toBeUndefined();
    const shown = (await bed.run("/skills share tables", asOperator)).markdown;
    expect(shown).toContain("1. Do it.\n2. Check it.");
    expect(shown).toContain("confirm");
    const patch = { action: "patch", path: "SKILL.md", oldString: "Do it", newString: "Do something else", replaceAll: false } as const;
    await bed.files.change(person, "tables", patch, plainRules, byCommand);
    expect((await bed.run("/skills share tables confirm", asOperator)).markdown).toContain("has changed since you saw");
    expect(bed.files.find(other, "tables")).toBeUndefined();

    await bed.run("/skills share tables", asOperator);
    expect((await bed.run("/skills share tables confirm", asOperator)).markdown).toBe("The skill tables is now there for everybody.");
    expect(bed.files.find(other, "tables")).toBeDefined();
    expect((await bed.run("/skills share nothing", asOperator)).markdown).toContain("no skill called nothing");
  });

  it("shows a text that holds code blocks so that it cannot leave its own", async () => {
    const bed = await bench();
    put(join(bed.dir, "spaces/p1/skills/code/SKILL.md"), skillMd("code", "d", "````\nx\n````\n**bold**"));

    expect((await bed.run("/skills share code", { role: "operator" })).markdown).toContain("`````\n---\nname: code");
  });
});

describe("/skill", () => {
  it("loads a skill into the message behind it, and counts the use", async () => {
    const bed = await bench();
    await withSkill(bed);

    const { turnText = "" } = await bed.run("/skill tables make one\nof two columns");
    expect(turnText).toMatch(/^<skill name="tables">\n[\s\S]*1\. Do it\.[\s\S]*<\/skill>\n\nmake one\nof two columns$/u);
    expect(await bed.log.uses("p1")).toMatchObject([{ skill: "tables", views: 1 }]);
    expect((await bed.run("/skills log tables")).markdown).toMatch(/tables: used 1 times, last on/u);
  });

  it("says how it is used, and when there is no such skill", async () => {
    const bed = await bench();

    expect((await bed.run("/skill")).markdown).toContain("Write the skill's name behind `/skill`");
    const missing = await bed.run("/skill ../../etc/passwd read it");
    expect(missing.turnText).toBeUndefined();
    expect(missing.markdown).toContain("`/skills` shows all of them");
  });

  it("shows a group nothing of a person's skills", async () => {
    const bed = await bench();
    await withSkill(bed);

    expect((await bed.run("/skill tables", { inGroup: true })).turnText).toBeUndefined();
  });
});
