/** `mneme skills` as a process, beside a data folder that a gateway has used. */
import { describe, expect, it } from "vitest";
import { runCli } from "../support/cli.js";
import { byCommand, plainRules, skillMd, skillSetup } from "../support/skill-setup.js";
import { tempHome } from "../support/temp-home.js";

describe("mneme skills", { timeout: 60_000 }, () => {
  it("lists, shows, tells the history and takes a change back", async () => {
    const home = tempHome();
    const data = home.path("data");
    const made = await skillSetup(data);
    const space = { id: "p1", kind: "person" } as const;
    await made.files.change(space, "tables", { action: "create", content: skillMd("tables", "How to do tables.") }, plainRules, {
      ...byCommand,
      origin: "review",
      sessionId: "s1",
    });
    const patch = { action: "patch", path: "SKILL.md", oldString: "1. Do it.", newString: "1. Do it well.", replaceAll: false } as const;
    await made.files.change(space, "tables", patch, plainRules, byCommand);
    await made.log.viewed("p1", "tables", Date.now());
    await made.db.close();
    const run = (...args: string[]) => runCli(["--data", data, "skills", ...args], { cwd: home.dir });

    const listed = await run("list", "--json");
    expect(JSON.parse(listed.out)).toMatchObject([{ name: "tables", where: "p1", madeBy: "review", madeIn: "s1", views: 1 }]);
    expect((await run("show", "tables", "--space", "p1")).out).toContain("1. Do it well.");
    const history = (await run("log", "--space", "p1")).out;
    expect(history).toMatch(/tables: patch {2}\[command, test:1\]\n {4}SKILL\.md\n {6}- 1\. Do it\.\n {6}\+ 1\. Do it well\./u);
    expect(await run("undo")).toMatchObject({ code: 2, err: expect.stringContaining("--space") as string });
    expect((await run("undo", "--space", "p1")).out).toContain("Taken back: patch of the skill tables.");
    expect((await run("show", "tables", "--space", "p1")).out).toContain("1. Do it.");
    expect((await run("show", "../x", "--space", "p1")).code).not.toBe(0);
  });
});
