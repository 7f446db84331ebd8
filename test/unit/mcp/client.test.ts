/** MCP servers that come and go: killed, slow, absent, restarted, at an address; and that nothing of them is left at the end. */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startMcpHttp, type McpHttpServer } from "../../support/mcp-http.js";
import { mcpWorld, runs, started, workshopAt, workshopProcess, type McpWorld } from "../../support/mcp-setup.js";

let folder: string;
const worlds: McpWorld[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mneme-mcp-"));
});
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.mcp.stop()));
  rmSync(folder, { recursive: true });
});

function worldOf(servers: Parameters<typeof mcpWorld>[0]): McpWorld {
  const world = mcpWorld(servers);
  worlds.push(world);
  return world;
}

async function pidOf(world: McpWorld): Promise<number> {
  return Number((await world.call("shop_pid")).content.split("\n")[2]);
}

describe("an MCP server that is a process", () => {
  it("that does not answer in time fails the call with words that say what is unknown, and goes on", async () => {
    const world = worldOf({ shop: workshopProcess({}, { timeoutMs: 300 }) });
    await started(world);

    const outcome = await world.call("shop_slow", { ms: 3000 });

    expect(outcome.failed).toBe(true);
    expect(outcome.content).toContain('The MCP server \\"shop\\" did not answer within 0.3 s; whether the call had an effect is unknown.');
    expect((await world.call("shop_add", { a: 1, b: 1 })).failed).toBe(false);
  });

  it("killed in a call fails that call once, is started again, and the call is not repeated by us", async () => {
    const notes = join(folder, "notes.txt");
    const world = worldOf({ shop: workshopProcess({ notes }) });
    await started(world);
    const first = await pidOf(world);

    const running = world.call("shop_slow", { ms: 60_000 });
    await expect.poll(() => existsSync(notes)).toBe(true);
    process.kill(first, "SIGKILL");
    const outcome = await running;

    expect(outcome.content).toContain("went away during this call; whether the call had an effect is unknown");
    expect(world.names()).toContain("shop_add");
    await expect.poll(() => world.mcp.states()[0]?.state, { timeout: 10_000 }).toBe("up");
    expect(await pidOf(world)).not.toBe(first);
    expect(readFileSync(notes, "utf8")).toBe("slow began\n");
  });

  it("that ended is started again by the next call, without an error for the model", async () => {
    const world = worldOf({ shop: workshopProcess() });
    await started(world);
    await world.call("shop_die");

    await expect.poll(async () => (await world.call("shop_add", { a: 1, b: 2 })).failed, { timeout: 10_000 }).toBe(false);
  });

  it("that is absent at the start delays nothing, is named in the errors, and is used once it appears", async () => {
    const command = join(folder, "server");
    const real = workshopProcess();
    const world = worldOf({ shop: { ...real, command }, other: workshopProcess({}, { allow: ["add"] }) });
    const startedAt = Date.now();
    await world.mcp.start();

    expect(Date.now() - startedAt).toBeLessThan(2500);
    expect(world.mcp.states()[0]).toMatchObject({
      name: "shop",
      state: "down",
      tools: 0,
      error: "the program (or its folder) does not exist",
    });
    await expect.poll(() => world.names(), { timeout: 10_000 }).toEqual(["other_add"]);
    symlinkSync(process.execPath, command);
    await expect.poll(() => world.names(), { timeout: 15_000 }).toContain("shop_add");
    expect((await world.call("shop_add", { a: 1, b: 1 })).failed).toBe(false);
    expect(world.log.lines.filter((line) => line.level === "warn").length).toBe(1);
  });

  it("that is down keeps its known tools offered, and they say so", async () => {
    const command = join(folder, "server");
    symlinkSync(process.execPath, command);
    const world = worldOf({ shop: { ...workshopProcess(), command } });
    await started(world);
    const before = world.names();
    rmSync(command);
    await world.call("shop_die");

    const outcome = await world.call("shop_add", { a: 1, b: 1 });

    expect(world.names()).toEqual(before);
    expect(outcome.failed).toBe(true);
    expect(outcome.content).toContain(
      'The MCP server \\"shop\\" is down (the program (or its folder) does not exist); the call was not run.',
    );
  });

  it("that never says a word does not hold up the start", async () => {
    const world = worldOf({ mute: { ...workshopProcess(), args: ["-e", "setInterval(() => undefined, 1000)"] } });
    const startedAt = Date.now();
    await world.mcp.start();

    expect(Date.now() - startedAt).toBeLessThan(2500);
    expect(world.mcp.states()[0]?.state).toBe("connecting");
  });

  it("is gone after the stop, at once when it is well-behaved", async () => {
    const world = worldOf({ shop: workshopProcess() });
    await started(world);
    const pid = await pidOf(world);
    const stoppingAt = Date.now();
    await world.mcp.stop();

    expect(runs(pid)).toBe(false);
    expect(Date.now() - stoppingAt).toBeLessThan(1900);
    expect(world.mcp.states()[0]?.state).toBe("stopped");
    expect((await world.call("shop_add", { a: 1, b: 1 })).content).toContain("is down");
  });

  it("is gone after the stop even when it ignores every request to end", async () => {
    const world = worldOf({ shop: workshopProcess({ stubborn: true }) });
    await started(world);
    const pid = await pidOf(world);
    await world.mcp.stop();

    await expect.poll(() => runs(pid)).toBe(false);
  });

  it("is gone after a stop during its start", async () => {
    const marker = join(folder, "pid");
    const script = `require("node:fs").writeFileSync(${JSON.stringify(marker)}, String(process.pid)); process.stdin.resume(); setInterval(() => undefined, 1000)`;
    const world = worldOf({ mute: { ...workshopProcess(), args: ["-e", script] } });
    const starting = world.mcp.start();
    await expect.poll(() => existsSync(marker) && readFileSync(marker, "utf8") !== "").toBe(true);
    await world.mcp.stop();
    await starting;

    await expect.poll(() => runs(Number(readFileSync(marker, "utf8")))).toBe(false);
    expect(world.mcp.states()[0]?.state).toBe("stopped");
  });
});

describe("an MCP server at an address", () => {
  let server: McpHttpServer;
  afterEach(() => server.stop());

  it("is called with its headers", async () => {
    server = await startMcpHttp({ token: "let-me-in-please" });
    const world = worldOf({ shop: workshopAt(server.url, { headers: { Authorization: "Bearer let-me-in-please" } }) });
    await started(world);

    expect((await world.call("shop_add", { a: 20, b: 3 })).content).toContain("\n23\n");
  });

  it("that refuses the credentials is reported as that", async () => {
    server = await startMcpHttp({ token: "let-me-in-please" });
    const world = worldOf({ shop: workshopAt(server.url, { headers: { Authorization: "Bearer wrong-token" } }) });
    await world.mcp.start();

    expect(world.mcp.states()[0]).toMatchObject({ state: "down", error: "the credentials were refused" });
    expect(JSON.stringify(world.log.lines)).not.toContain("wrong-token");
  });

  it("that forgot our session is greeted anew, and the call is run once", async () => {
    const notes = join(folder, "notes.txt");
    server = await startMcpHttp({ notes });
    const world = worldOf({ shop: workshopAt(server.url) });
    await started(world);
    server.forget();

    const outcome = await world.call("shop_note", { line: "glue" });

    expect(outcome).toMatchObject({ failed: false });
    expect(readFileSync(notes, "utf8")).toBe("glue\n");
  });

  it("that went away is noticed, and used again when it is back", async () => {
    server = await startMcpHttp();
    const { port } = server;
    const world = worldOf({ shop: workshopAt(server.url) });
    await started(world);
    await server.stop();

    const outcome = await world.call("shop_note", { line: "lost" });
    expect(outcome.failed).toBe(true);
    expect(outcome.content).toMatch(/The MCP server \\"shop\\" (is down|went away)/);
    expect(world.names()).toContain("shop_note");

    server = await startMcpHttp({ port, more: ["later"] });
    await expect.poll(() => world.names(), { timeout: 15_000 }).toContain("shop_later");
    expect((await world.call("shop_later")).failed).toBe(false);
  });

  it("is told when we leave", async () => {
    server = await startMcpHttp();
    const world = worldOf({ shop: workshopAt(server.url) });
    await started(world);
    expect(server.sessions.size).toBe(1);
    await world.mcp.stop();

    expect(server.sessions.size).toBe(0);
  });
});
