import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli } from "../../support/cli.js";
import { tempHome } from "../../support/temp-home.js";

const told = [
  { session: "a", space: "talk", role: "user", author: "Caroline", time: "2023-05-08T10:00:00Z", text: "I adopted two puppies" },
  { session: "a", space: "talk", role: "assistant", author: "Mel", time: "2023-05-08T10:01:00Z", text: "From the shelter?" },
  { session: "b", space: "talk", role: "user", author: "Caroline", time: 1_684_000_000, text: "数据库迁移已经完成" },
  { session: "c", space: "other", role: "tool", time: 1_684_000_000_000, text: "the train was late" },
];

async function imported() {
  const home = tempHome();
  const cwd = home.dir;
  writeFileSync(home.path("talk.jsonl"), told.map((line) => JSON.stringify(line)).join("\n"));
  expect(await runCli(["sessions", "import", "talk.jsonl"], { cwd })).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^4 messages of 3 sessions imported/u),
  });
  return cwd;
}

describe("mneme sessions", { timeout: 120_000 }, () => {
  it("imports transcripts into an empty folder and answers questions about them without a model", async () => {
    const cwd = await imported();

    const asked = await runCli(["sessions", "search", "--json", "--limit", "1", "Who adopts a puppy?"], { cwd });
    expect(JSON.parse(asked.out)).toEqual([
      expect.objectContaining({ session: "a", space: "talk", score: expect.any(Number), excerpt: "I adopted two puppies" }),
    ]);
    const chinese = await runCli(["sessions", "search", "--json", "迁移"], { cwd });
    expect(JSON.parse(chinese.out)).toMatchObject([{ session: "b", startedAt: 1_684_000_000_000 }]);
    const elsewhere = await runCli(["sessions", "search", "--json", "--space", "talk", "train"], { cwd });
    expect(JSON.parse(elsewhere.out)).toEqual([]);
    expect((await runCli(["sessions", "list", "--space", "other"], { cwd })).out).toContain("import");
  });

  it("names the line that is no message, and what a number must be", async () => {
    const home = tempHome();
    const cwd = home.dir;
    writeFileSync(home.path("bad.jsonl"), `${JSON.stringify(told[0])}\n{"session": "a"}\n`);

    expect(await runCli(["sessions", "import", "bad.jsonl"], { cwd })).toMatchObject({ code: 2, err: expect.stringContaining("Line 2") });
    expect(await runCli(["sessions", "search", "--limit", "0", "x"], { cwd })).toMatchObject({
      code: 2,
      err: expect.stringContaining("--limit"),
    });
  });

  it("says so where nothing is stored yet", async () => {
    const { dir: cwd } = tempHome();
    expect(await runCli(["sessions", "search", "x"], { cwd })).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no database"),
    });
  });
});
