import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseEntries } from "../../../src/memory/entries.js";
import { MemoryFiles } from "../../../src/memory/memory-files.js";
import { mergePending } from "../../../src/memory/pending.js";
import type { MemoryOwner } from "../../../src/ports/memory-log.js";
import { byCommand, memorySetup, type MemorySetup } from "../../support/memory-setup.js";
import { tempHome } from "../../support/temp-home.js";

const user: MemoryOwner = { target: "user", id: "p1" };
const notes: MemoryOwner = { target: "memory", id: "space1" };

async function setup(limits?: { user: number; memory: number }): Promise<MemorySetup & { dir: string }> {
  const { dir } = tempHome();
  const made = await memorySetup(dir, limits);
  onTestFinished(() => made.db.close());
  return { ...made, dir };
}

function byHand(files: MemorySetup["files"], owner: MemoryOwner, text: string): void {
  mkdirSync(dirname(files.path(owner)), { recursive: true });
  writeFileSync(files.path(owner), text);
}

function startWriter(
  dir: string,
  name: string,
  count: number,
): { child: ReturnType<typeof spawn>; stored: () => string[]; ended: Promise<unknown> } {
  const child = spawn(process.execPath, ["--import", "tsx", "test/support/memory-writer.ts", dir, name, String(count)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const ended = once(child, "close").then(([code, signal]) => {
    if (code !== 0 && signal !== "SIGKILL") throw new Error(`writer ended with ${String(code)}: ${errors}`);
  });
  return { child, stored: () => out.split("\n").filter((line) => line !== ""), ended };
}

describe("memory files", () => {
  it("keeps a person's profile and a space's notes in their own folders", async () => {
    const { files, dir } = await setup();

    await files.change(user, { action: "add", content: "Likes tea" }, byCommand);
    await files.change(notes, { action: "add", content: "Runs Debian" }, byCommand);

    expect(readFileSync(`${dir}/people/p1/USER.md`, "utf8")).toBe("Likes tea");
    expect(readFileSync(`${dir}/spaces/space1/MEMORY.md`, "utf8")).toBe("Runs Debian");
  });

  it.each(["", "..", "a/b", "../p2", ".hidden", "a\u0000"])("refuses the owner id %j, which is no plain name", async (id) => {
    const { files } = await setup();

    expect(() => files.path({ target: "user", id })).toThrow("not a valid id");
  });

  it("writes an event with author, before and after for each change, and none when nothing changed", async () => {
    const { files, log, written } = await setup();

    await files.change(user, { action: "add", content: "Likes tea" }, { ...byCommand, sessionId: "s1", evidence: "I like tea" });
    await files.change(user, { action: "add", content: "likes TEA." }, byCommand);
    await files.change(user, { action: "replace", oldText: "tea", content: "Likes coffee" }, byCommand);

    const events = await log.events(user, 10);
    expect(events.map(({ action, before, after }) => ({ action, before, after }))).toEqual([
      { action: "replace", before: "Likes tea", after: "Likes coffee" },
      { action: "add", before: undefined, after: "Likes tea" },
    ]);
    expect(events[1]).toMatchObject({ origin: "command", accountKey: "test:1", personId: "p1", sessionId: "s1", evidence: "I like tea" });
    expect(written.map(({ action }) => action)).toEqual(["add", "replace"]);
  });

  it("leaves the file byte-untouched when a change is refused", async () => {
    const { files, log } = await setup({ user: 30, memory: 30 });
    byHand(files, user, "  Likes tea  \r\n§\r\nLikes rain\r\n\r\n");
    const before = readFileSync(files.path(user));

    for (const change of [
      { action: "add", content: "Something that does not fit" },
      { action: "add", content: "a\n§\nb" },
      { action: "remove", oldText: "Likes" },
      { action: "remove", oldText: "snow" },
    ] as const) {
      expect((await files.change(user, change, byCommand)).applied.ok).toBe(false);
    }

    expect(readFileSync(files.path(user)).equals(before)).toBe(true);
    expect((await log.events(user, 10)).map(({ action }) => action)).toEqual(["outside"]);
  });

  it("ME-01: keeps an edit made by hand, records it, and can undo it", async () => {
    const { files, log } = await setup();
    await files.change(user, { action: "add", content: "Likes tea" }, byCommand);
    byHand(files, user, "Likes tea\n§\nBorn in May\n");

    await files.change(user, { action: "add", content: "Works nights" }, byCommand);
    expect(files.entries(user)).toEqual(["Likes tea", "Born in May", "Works nights"]);
    expect((await log.events(user, 10)).map(({ action }) => action)).toEqual(["add", "outside", "add"]);

    const undos = [await files.undo([user], () => true, byCommand), await files.undo([user], () => true, byCommand)];
    expect(undos.map((result) => (result.ok ? result.undone.action : result.reason))).toEqual(["add", "changed"]);
  });

  it("undoes an edit made by hand when nothing came after it", async () => {
    const { files } = await setup();
    await files.change(user, { action: "add", content: "Likes tea" }, byCommand);
    await files.change(user, { action: "add", content: "Works nights" }, byCommand);
    await files.change(user, { action: "replace", oldText: "tea", content: "Likes coffee" }, byCommand);
    byHand(files, user, "Likes coffee");

    expect(await files.undo([user], () => true, byCommand)).toMatchObject({ ok: true, undone: { action: "outside" } });
    expect(files.read(user)).toBe("Likes coffee\n§\nWorks nights");
    await files.undo([user], () => true, byCommand);
    expect(files.read(user)).toBe("Likes tea\n§\nWorks nights");
  });

  it("undoes further back each time, over both files, and says when nothing is left", async () => {
    const { files, written } = await setup();
    await files.change(user, { action: "add", content: "Likes tea" }, byCommand);
    await files.change(notes, { action: "add", content: "Runs Debian" }, byCommand);
    await files.change(user, { action: "remove", oldText: "tea" }, byCommand);

    const results = [];
    for (let times = 0; times < 4; times += 1) results.push(await files.undo([user, notes], () => true, byCommand));

    expect(results.map((result) => (result.ok ? result.undone.action : result.reason))).toEqual(["remove", "add", "add", "nothing"]);
    expect([files.entries(user), files.entries(notes)]).toEqual([[], []]);
    expect(written.at(-1)).toEqual({ owner: user, action: "undo", before: "Likes tea" });
  });

  it("does not undo what the caller may not, what was changed since, or what no longer fits", async () => {
    const { files } = await setup({ user: 20, memory: 20 });
    await files.change(user, { action: "add", content: "Likes tea a lot" }, byCommand);
    await files.change(user, { action: "remove", oldText: "tea" }, byCommand);
    await files.change(user, { action: "add", content: "Likes rain" }, { ...byCommand, accountKey: "test:2" });

    expect(await files.undo([user], ({ accountKey }) => accountKey === "test:3", byCommand)).toEqual({ ok: false, reason: "nothing" });
    expect(await files.undo([user], ({ accountKey }) => accountKey === "test:1", byCommand)).toMatchObject({ ok: false, reason: "full" });
    byHand(files, user, "Likes rain and snow");
    const [add] = await files.events(user, 5);
    expect(add === undefined ? undefined : await files.undoEvent(add, byCommand)).toMatchObject({ ok: false, reason: "changed" });
  });

  it("ME-22: forgets an entry in the file, in its history and among the notes from groups", async () => {
    const { files, log, written } = await setup();
    await files.change(user, { action: "add", content: "Has a rash" }, { ...byCommand, evidence: "I have a rash" });
    await log.addPending("p1", { none: true }, "has a rash.", undefined, "s1", 1);
    expect(files.find(user, "RASH")).toEqual(["Has a rash"]);

    expect(await files.forget(user, "Has a rash", byCommand)).toBe(true);
    expect(await files.forget(user, "Has a rash", byCommand)).toBe(false);

    expect(files.read(user)).toBe("");
    expect(JSON.stringify(await log.events(user, 10))).not.toContain("rash");
    expect(await log.pending("p1")).toEqual([]);
    expect(written.at(-1)).toEqual({ owner: user, action: "forget", before: "Has a rash" });
    expect(await files.undo([user], () => true, byCommand)).toMatchObject({ ok: false, reason: "forgotten" });
  });

  it("merges notes from groups once, leaves out what is known and keeps waiting what does not fit", async () => {
    const { files, log } = await setup({ user: 40, memory: 40 });
    await files.change(user, { action: "add", content: "Likes tea" }, byCommand);
    for (const note of ["likes tea.", "Works nights", "Has a very long story that can not fit here"]) {
      await log.addPending("p1", { none: true }, note, "said so", "s1", 1);
    }

    const first = await mergePending(files, "p1", byCommand);
    const second = await mergePending(files, "p1", byCommand);

    expect(first).toEqual({ merged: ["Works nights"], waiting: ["Has a very long story that can not fit here"] });
    expect(second.merged).toEqual([]);
    expect(files.entries(user)).toEqual(["Likes tea", "Works nights"]);
    expect((await log.events(user, 1))[0]).toMatchObject({ action: "merge", after: "Works nights", evidence: "said so" });
  });

  it("takes back what an earlier attempt of a job wrote and leaves what was changed since", async () => {
    const { files } = await setup();
    const job = { ...byCommand, jobId: "j1" };
    await files.change(notes, { action: "add", content: "One fact" }, job);
    await files.change(notes, { action: "add", content: "Second thing" }, job);
    await files.change(notes, { action: "replace", oldText: "One", content: "One corrected fact" }, byCommand);

    expect(await files.takeBack("j1", byCommand)).toBe(1);
    expect(files.entries(notes)).toEqual(["One corrected fact"]);
    expect(await files.takeBack("j1", byCommand)).toBe(0);
  });

  it("refuses a write whose turn lost its claim, with nothing written", async () => {
    const { files, log } = await setup();

    await expect(
      files.change(user, { action: "add", content: "x y" }, { ...byCommand, guard: { turnId: "none", claim: 1 } }),
    ).rejects.toThrow();
    expect(files.read(user)).toBe("");
    expect(await log.events(user, 5)).toEqual([]);
  });

  it("records a change as outside when the process died between rename and commit", async () => {
    const { files, log } = await setup();
    await files.change(user, { action: "add", content: "Likes tea" }, byCommand);
    const dying = Object.create(log) as typeof log;
    dying.change = (owner, guard, now, work) =>
      log.change(owner, guard, now, (last) => {
        const done = work(last);
        return {
          ...done,
          write: () => {
            done.write?.();
            throw new Error("died");
          },
        };
      });
    const broken = new MemoryFiles({
      dataDir: dirname(dirname(dirname(files.path(user)))),
      log: dying,
      clock: { now: () => 1, after: () => () => undefined },
      limits: { user: 1375, memory: 2200 },
    });
    await expect(broken.change(user, { action: "add", content: "Works nights" }, byCommand)).rejects.toThrow("died");

    expect(await files.change(user, { action: "add", content: "Works nights" }, byCommand)).toMatchObject({
      applied: { ok: true, changed: false },
    });
    expect(files.entries(user)).toEqual(["Likes tea", "Works nights"]);
    expect((await log.events(user, 5)).map(({ action }) => action)).toEqual(["outside", "add"]);
  });

  it("refuses to rewrite a file that is not UTF-8", async () => {
    const { files } = await setup();
    mkdirSync(dirname(files.path(user)), { recursive: true });
    writeFileSync(files.path(user), Buffer.from([0x61, 0xff, 0xfe]));

    await expect(files.change(user, { action: "add", content: "x y" }, byCommand)).rejects.toThrow("UTF-8");
    expect([...readFileSync(files.path(user))]).toEqual([0x61, 0xff, 0xfe]);
  });

  it("ME-01: loses no entry when two processes add 50 each while a third appends by hand", { timeout: 60_000 }, async () => {
    const { files, dir } = await setup();
    byHand(files, notes, "first by hand");
    const writers = ["red", "blue"].map((name) => startWriter(dir, name, 50));
    const both = Promise.all(writers.map(({ ended }) => ended));
    const hand: string[] = [];
    let running = true;
    void both.then(
      () => (running = false),
      () => (running = false),
    );
    while (running) {
      if (writers.some(({ stored }) => stored().length > 0) && hand.length < 50) {
        const entry = `hand number${hand.length} fact${hand.length}`;
        appendFileSync(files.path(notes), `\n§\n${entry}`);
        hand.push(entry);
      }
      await new Promise((resolve) => setTimeout(resolve, 7));
    }
    await both;

    const wanted = [
      "first by hand",
      ...hand,
      ...["red", "blue"].flatMap((name) => Array.from({ length: 50 }, (_, index) => `${name} number${index} fact${index}`)),
    ];
    expect(hand.length).toBeGreaterThan(5);
    expect(files.entries(notes).toSorted()).toEqual(wanted.toSorted());
  });

  it("leaves the old or the new file when a writer is killed, never a part", { timeout: 60_000 }, async () => {
    const { files, dir } = await setup();
    for (const [round, after] of [1, 4, 9, 15].entries()) {
      const writer = startWriter(dir, `round${round}`, 200);
      while (writer.stored().length < after) await new Promise((resolve) => setTimeout(resolve, 3));
      writer.child.kill("SIGKILL");
      await writer.ended;

      const entries = files.entries(notes);
      expect(entries.every((entry) => /^round\d number\d+ fact\d+$/u.test(entry))).toBe(true);
      for (const stored of writer.stored()) expect(entries).toContain(stored);
      expect(parseEntries(files.read(notes)).length).toBe(new Set(entries).size);
      expect(
        (await files.change(notes, { action: "add", content: `after kill ${"abcd".charAt(round)} ${round}`, allowNear: true }, byCommand))
          .applied.ok,
      ).toBe(true);
      await files.change(notes, { action: "remove", oldText: "after kill" }, byCommand);
    }
    expect(readdirSync(dirname(files.path(notes))).filter((name) => !name.endsWith(".tmp"))).toEqual(["MEMORY.md"]);
  });
});
