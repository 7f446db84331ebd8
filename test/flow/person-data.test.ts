/** `mneme memory export` and `mneme memory forget` over a data folder that a gateway has filled, with Supermemory beside it. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../config/load.js";
import { withStores, type Offline, type OfflineDeps } from "../../src/app/offline.js";
import { exportPerson, forgetPersonOffline, personIdOf } from "../../src/app/person-offline.js";
import { countRows, environmentOf, operatorId, startGateway, until, world } from "../support/gateway.js";
import { collectingLogger, countedIds, systemClock } from "../support/runtime.js";
import { startSupermemoryServer } from "../support/supermemory-server.js";

describe("what is held about a person", () => {
  it("is exported here and from the external memory into one folder, and deleted in both", async () => {
    const server = await startSupermemoryServer();
    const where = await world();
    where.telegram.person(operatorId);
    const settings = {
      MNEME_MEMORY_PROVIDER: "supermemory",
      SUPERMEMORY_BASE_URL: server.url,
      SUPERMEMORY_API_KEY: "k",
      MNEME__providers__syncAfterMs: "0",
    };
    const running = await startGateway(where, settings);
    where.model.push(
      { calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Collects green stamps." } }] },
      "A fine hobby.",
    );
    where.telegram.say(operatorId, "I collect green stamps");
    await until("everything is there", () => server.documents.length === 2);
    await until(
      "no job is left",
      () => countRows(where, "select count(*) n from intents where kind <> 'stretch' and state in ('open', 'active')") === 0,
    );
    await running.stop();
    const config = loadConfig({ env: environmentOf(where, settings), cwd: where.home.dir });
    const deps: OfflineDeps = { config, clock: systemClock, ids: countedIds(), logger: collectingLogger() };
    const inStores = <T>(work: (offline: Offline) => Promise<T>): Promise<T | undefined> => withStores(deps, work);
    const out = where.home.path("export");

    const exported = await inStores(async (offline) =>
      exportPerson(deps, offline, await personIdOf(offline, `telegram:${operatorId}`), out),
    );
    expect(exported?.missing).toBeUndefined();
    expect(readFileSync(`${out}/conversations.json`, "utf8")).toContain("I collect green stamps");
    expect(readFileSync(`${out}/person/USER.md`, "utf8")).toContain("Collects green stamps.");
    const external = readFileSync(`${out}/external-memory.json`, "utf8");
    expect(external).toContain("I collect green stamps");
    expect(external).toContain("Collects green stamps.");
    await expect(inStores((offline) => exportPerson(deps, offline, exported?.personId ?? "", out))).rejects.toMatchObject({
      code: "input.invalid",
    });
    await expect(inStores((offline) => personIdOf(offline, "nobody"))).rejects.toMatchObject({ code: "input.invalid" });

    expect(await inStores((offline) => forgetPersonOffline(deps, offline, exported?.personId ?? ""))).toBe("done");
    expect(server.documents).toEqual([]);
    expect(countRows(where, "select count(*) n from messages where role = 'user'")).toBe(0);
    expect(existsSync(where.home.path("data", "people", exported?.personId ?? "", "USER.md"))).toBe(false);
    expect(server.unknown).toEqual([]);
  });
});
