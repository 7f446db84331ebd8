import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SkillChange } from "../../../src/skills/changes.js";
import { sharedOwner } from "../../../src/skills/index-files.js";
import type { SkillOutcome } from "../../../src/skills/space-change.js";
import { byCommand, plainRules, skillMd, skillSetup, type SkillSetup, type SkillSetupOptions } from "../../support/skill-setup.js";
import { tempHome } from "../../support/temp-home.js";

const person = { id: "p1", kind: "person" } as const;
const group = { id: "g1", kind: "group" } as const;
const own = { scope: "space", id: "p1" } as const;

interface Bench extends SkillSetup {
  readonly dir: string;
  readonly change: (name: string, change: SkillChange) => Promise<SkillOutcome>;
  readonly undo: () => ReturnType<SkillSetup["files"]["undo"]>;
  readonly path: (...parts: string[]) => string;
}

async function bench(options: SkillSetupOptions = {}): Promise<Bench> {
  const { dir } = tempHome();
  const made = await skillSetup(dir, options);
  onTestFinished(() => made.db.close());
  return {
    ...made,
    dir,
    change: (name, change) => made.files.change(person, name, change, plainRules, byCommand),
    undo: () => made.files.undo([own], () => true, byCommand),
    path: (...parts) => join(dir, "spaces/p1/skills", ...parts),
  };
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function tree(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.\w+$/u.test(name) && !name.endsWith(".index.json"),
  );
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

const create = (name: string, body?: string): SkillChange => ({ action: "create", content: skillMd(name, `How to do ${name}.`, body) });
const patch = (oldString: string, newString: string): SkillChange => ({
  action: "patch",
  path: "SKILL.md",
  oldString,
  newString,
  replaceAll: false,
});

describe("skill folders", () => {
  it("write into the space's own folder, privately, with an event that holds before and after", async () => {
    const { change, path, log } = await bench();

    await change("tables", create("tables"));
    await change("tables", patch("1. Do it.", "1. Do it well."));

    expect(readFileSync(path("tables/SKILL.md"), "utf8")).toBe(skillMd("tables", "How to do tables.", "1. Do it well.\n2. Check it."));
    const [newest, first] = await log.events(own, 10);
    expect([newest?.action, first?.action]).toEqual(["patch", "create"]);
    expect(first).toMatchObject({ origin: "command", accountKey: "test:1", personId: "p1" });
    const [file] = (await log.event(newest?.id ?? 0))?.files ?? [];
    expect(Buffer.from(file?.before ?? []).toString()).toContain("1. Do it.\n");
    expect(Buffer.from(file?.after ?? []).toString()).toContain("1. Do it well.\n");
  });

  it("say that an identical skill exists already, and write nothing", async () => {
    const { change, log, path } = await bench();
    await change("tables", create("tables"));
    utimesSync(path("tables/SKILL.md"), 1_700_000_000, 1_700_000_000);

    expect(await change("tables", create("tables"))).toMatchObject({ ok: true, changed: false });
    expect(await change("tables", { action: "create", content: `${skillMd("tables", "How to do tables.")}\n\n` })).toMatchObject({
      changed: false,
    });
    expect(await log.events(own, 10)).toHaveLength(1);
    expect(await change("tables", create("tables", "other"))).toMatchObject({ ok: false, error: expect.stringMatching(/exists already/u) });
  });

  it("keep a change made by hand, record it, and take it back", async () => {
    const { change, path, log, undo } = await bench();
    await change("tables", create("tables"));
    put(path("tables/SKILL.md"), skillMd("tables", "By hand."));
    put(path("tables/references/more.md"), "more");

    await change("tables", patch("2. Check it.", "2. Check it twice."));
    expect((await log.events(own, 10)).map(({ action }) => action)).toEqual(["patch", "outside", "create"]);
    expect(readFileSync(path("tables/SKILL.md"), "utf8")).toContain("By hand.");
    expect([await undo(), await undo(), await undo()].map((result) => (result.ok ? result.undone.action : result.reason))).toEqual([
      "patch",
      "outside",
      "create",
    ]);
    expect(tree(path())).toEqual({});
    expect(await undo()).toEqual({ ok: false, reason: "nothing" });
  });

  it("never take away a skill that somebody put there by hand", async () => {
    const { path, undo, files, log } = await bench();
    put(path("by-hand/SKILL.md"), skillMd("by-hand", "Mine."));

    expect(await undo()).toEqual({ ok: false, reason: "nothing" });
    expect((await log.events(own, 10)).map(({ action }) => action)).toEqual(["outside"]);
    expect(files.find(person, "by-hand")).toBeDefined();
  });

  it("refuse to take back one person's change when another's came after it in the same file, and leave it", async () => {
    const { change, files, path } = await bench();
    await change("tables", create("tables"));
    await files.change(person, "tables", patch("Check it", "Check it twice"), plainRules, { ...byCommand, accountKey: "test:2" });
    const before = tree(path());

    const result = await files.undo([own], (event) => event.accountKey === "test:1", byCommand);
    expect(result).toMatchObject({ ok: false, reason: "changed", event: { skill: "tables", action: "create" } });
    expect(tree(path())).toEqual(before);
  });

  it("undo one given change only while its text is still there", async () => {
    const { change, log, files, path } = await bench();
    await change("tables", create("tables"));
    await change("tables", patch("Do it", "Do it now"));
    await change("tables", patch("Check it", "Check it now"));
    const [, first] = await log.events(own, 10);
    if (first === undefined) throw new Error("no event");
    const before = tree(path());

    expect(await files.undoEvent(first, byCommand)).toMatchObject({ ok: false, reason: "changed" });
    expect(tree(path())).toEqual(before);
  });

  it("bring a deleted skill back with all its files", async () => {
    const { change, path, undo } = await bench();
    await change("tables", create("tables"));
    await change("tables", { action: "write_file", path: "references/deep/a.md", content: "a" });
    await change("tables", { action: "write_file", path: "scripts/run.sh", content: "#!/bin/sh\ntrue\n" });
    const before = tree(path());

    await change("tables", { action: "delete" });
    expect(readdirSync(path()).filter((name) => name !== ".index.json")).toEqual([]);
    await undo();
    expect(tree(path())).toEqual(before);
  });

  it("take back what an earlier attempt of a review wrote, newest first, and leave what was changed since", async () => {
    const { files, change, path, log } = await bench();
    const review = { ...byCommand, origin: "review", jobId: "job1" } as const;
    await change("tables", create("tables"));
    await files.change(person, "tables", patch("Do it", "Do it thus"), plainRules, review);
    await files.change(person, "notes", create("notes"), plainRules, review);
    await files.change(person, "lists", create("lists"), plainRules, review);
    await change("lists", patch("Check it", "Check it twice"));

    expect(await files.takeBack("job1", byCommand)).toBe(2);
    expect(Object.keys(tree(path()))).toEqual(["lists/SKILL.md", "tables/SKILL.md"]);
    expect(readFileSync(path("tables/SKILL.md"), "utf8")).toContain("Do it.");
    expect(await files.takeBack("job1", byCommand)).toBe(0);
    expect((await log.byJob("job1")).filter(({ undoneBy }) => undoneBy !== undefined)).toHaveLength(2);
  });

  it("keep a review's remark on overlaps once, however often the review is repeated", async () => {
    const { files, log } = await bench();
    const review = { ...byCommand, origin: "review", jobId: "job1" } as const;

    await files.noteOverlap(person, ["tables", "lists"], "Both  explain\nmarkdown tables.", review);
    await files.noteOverlap(person, ["tables", "lists"], "Both explain markdown tables.", review);

    expect(await log.events(own, 10)).toEqual([
      expect.objectContaining({ action: "overlap", skill: "tables, lists", note: "Both explain markdown tables." }),
    ]);
  });
});

describe("shared skills", () => {
  it("are copied into a person's space when they are changed, and one undo removes the copy", async () => {
    const { dir, files, change, undo, path } = await bench();
    put(join(dir, "skills/tables/SKILL.md"), skillMd("tables", "Shared."));
    put(join(dir, "skills/tables/references/a.md"), "a");

    expect(await change("tables", patch("Do it", "Do it here"))).toMatchObject({ ok: true, copied: true });
    expect(readFileSync(join(dir, "skills/tables/SKILL.md"), "utf8")).toContain("1. Do it.\n");
    expect(Object.keys(tree(path()))).toEqual(["tables/SKILL.md", "tables/references/a.md"]);
    expect(files.find(person, "tables")?.owner).toEqual(own);
    expect(files.find({ id: "p2", kind: "person" }, "tables")?.owner).toEqual(sharedOwner);

    await undo();
    expect(tree(path())).toEqual({});
    expect(files.find(person, "tables")?.owner).toEqual(sharedOwner);
  });

  it("cannot be deleted or, in a group, changed or replaced", async () => {
    const { dir, files, change } = await bench();
    put(join(dir, "skills/tables/SKILL.md"), skillMd("tables", "How to do tables."));
    const inGroup = (what: SkillChange) => files.change(group, "tables", what, plainRules, byCommand);

    expect(await change("tables", { action: "delete" })).toMatchObject({ ok: false, error: expect.stringMatching(/only an operator/u) });
    expect(await inGroup(patch("Do it", "x"))).toMatchObject({ ok: false, error: expect.stringMatching(/from a group/u) });
    expect(await inGroup(create("tables", "mine"))).toMatchObject({ ok: false, error: expect.stringMatching(/from a group/u) });
    expect(await inGroup(create("tables"))).toMatchObject({ ok: true, changed: false });
    expect(await change("tables", create("tables"))).toMatchObject({ ok: true, changed: false });
    expect(existsSync(join(dir, "spaces/g1/skills/tables"))).toBe(false);
  });

  it("come from a space only as the operator saw them", async () => {
    const { dir, files, change } = await bench();
    await change("tables", create("tables"));
    await change("tables", { action: "write_file", path: "references/a.md", content: "a" });
    const seen = files.fingerprint(files.state(own, "tables"));
    await change("tables", patch("Do it", "Do something else"));

    expect(await files.share(person, "tables", seen, byCommand)).toBe(false);
    expect(existsSync(join(dir, "skills/tables"))).toBe(false);
    expect(await files.share(person, "tables", files.fingerprint(files.state(own, "tables")), byCommand)).toBe(true);
    expect(Object.keys(tree(join(dir, "skills")))).toEqual(["tables/SKILL.md", "tables/references/a.md"]);
    expect(await files.share(person, "tables", files.fingerprint(files.state(own, "tables")), byCommand)).toBe(true);
    expect(await files.events(sharedOwner, 10)).toHaveLength(1);

    await change("tables", { action: "remove_file", path: "references/a.md" });
    await files.share(person, "tables", files.fingerprint(files.state(own, "tables")), byCommand);
    expect(Object.keys(tree(join(dir, "skills")))).toEqual(["tables/SKILL.md"]);
    await files.undo([sharedOwner], () => true, byCommand);
    expect(Object.keys(tree(join(dir, "skills")))).toEqual(["tables/SKILL.md", "tables/references/a.md"]);
  });
});

describe("the safety of the folders", () => {
  it.each(["..", "../p2", "a/b", "", ".git", "/etc"])("ME-20: refuse the name %j", async (name) => {
    const { change, dir } = await bench();

    await expect(change(name, create("tables"))).rejects.toMatchObject({ code: "input.invalid" });
    expect(existsSync(join(dir, "spaces"))).toBe(false);
  });

  it("refuse a space whose id is no plain name", async () => {
    const { files } = await bench();

    await expect(files.change({ id: "../x", kind: "person" }, "tables", create("tables"), plainRules, byCommand)).rejects.toMatchObject({
      code: "input.invalid",
    });
  });

  it("ME-20: write through no link, neither a folder nor a file", async () => {
    const { change, path } = await bench();
    const elsewhere = tempHome().path("elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "a.md"), "theirs");
    await change("tables", create("tables"));
    symlinkSync(elsewhere, path("tables/references"));
    mkdirSync(path("tables/templates"));
    symlinkSync(join(elsewhere, "a.md"), path("tables/templates/a.md"));
    symlinkSync(elsewhere, path("linked"));

    for (const [name, file] of [
      ["tables", "references/b.md"],
      ["tables", "references/a.md"],
      ["tables", "templates/a.md"],
    ] as const) {
      await expect(change(name, { action: "write_file", path: file, content: "ours" })).rejects.toMatchObject({ code: "input.invalid" });
    }
    await expect(change("linked", create("linked"))).rejects.toMatchObject({ code: "input.invalid" });
    expect(await change("tables", { action: "delete" })).toMatchObject({ ok: false, error: expect.stringMatching(/hidden files, links/u) });
    expect(tree(elsewhere)).toEqual({ "a.md": "theirs" });
  });

  it("write nothing at all when the turn has lost its claim", async () => {
    const { files, dir, log } = await bench();
    const lost = { ...byCommand, origin: "turn", guard: { jobId: "gone", fence: 1 } } as const;

    await expect(files.change(person, "tables", create("tables"), plainRules, lost)).rejects.toMatchObject({ code: "turn.outdated" });
    expect(existsSync(join(dir, "spaces/p1/skills/tables"))).toBe(false);
    expect(await log.events(own, 10)).toEqual([]);
  });

  it("put everything back when the commit fails after the files were written", async () => {
    let fail = false;
    const { change, path, log } = await bench({
      log: (real) => ({
        ...real,
        change: (owner, skill, guard, now, work) =>
          real.change(owner, skill, guard, now, (known) => {
            const planned = work(known);
            const write = (): void => {
              planned.write?.();
              if (fail) throw new Error("the disk went away");
            };
            return { ...planned, write };
          }),
      }),
    });
    await change("tables", create("tables"));
    await change("tables", { action: "write_file", path: "references/a.md", content: "a" });
    const before = tree(path());
    fail = true;

    for (const what of [
      patch("Do it", "x"),
      { action: "delete" },
      { action: "remove_file", path: "references/a.md" },
      { action: "write_file", path: "references/b.md", content: "b" },
    ] as const) {
      await expect(change("tables", what)).rejects.toThrow("the disk went away");
      expect(tree(path())).toEqual(before);
    }
    await expect(change("lists", create("lists"))).rejects.toThrow("the disk went away");
    expect(tree(path())).toEqual(before);
    expect(readdirSync(path()).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(await log.events(own, 10)).toHaveLength(2);
  });

  it.skipIf(process.getuid?.() === 0)("say that the disk cannot be written, and change nothing", async () => {
    const { change, path } = await bench();
    await change("tables", create("tables"));
    chmodSync(path("tables"), 0o500);
    onTestFinished(() => chmodSync(path("tables"), 0o700));

    await expect(change("tables", patch("Do it", "x"))).rejects.toMatchObject({ code: "store.full" });
  });

  it("clear away what a kill left behind an hour ago, and nothing younger", async () => {
    const { change, path, files } = await bench();
    put(path(".tables.0123456789ab.tmp/SKILL.md"), "half");
    await change("tables", create("tables"));
    expect(existsSync(path(".tables.0123456789ab.tmp"))).toBe(true);
    expect(files.index.visible(person).map(({ meta }) => meta.name)).toEqual(["tables"]);
  });

  it("let two processes change one skill at once without losing a line", { timeout: 60_000 }, async () => {
    const { change, path, dir, log } = await bench();
    await change("shared-work", create("shared-work", "<end>"));

    const ended = ["ann", "bob"].map(async (name) => {
      const child = spawn(process.execPath, ["--import", "tsx", "test/support/skill-writer-main.ts", dir, name, "15"], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      let errors = "";
      child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
      const [code] = (await once(child, "close")) as [number];
      if (code !== 0) throw new Error(errors);
    });
    await Promise.all(ended);

    const text = readFileSync(path("shared-work/SKILL.md"), "utf8");
    for (const name of ["ann", "bob"]) expect(text.match(new RegExp(`^- ${name} \\d+$`, "gmu"))).toHaveLength(15);
    expect((await log.events(own, 100)).map(({ action }) => action).filter((action) => action === "outside")).toEqual([]);
    expect(await log.events(own, 100)).toHaveLength(31);
  });
});
