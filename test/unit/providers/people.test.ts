/** Linking, unlinking, forgetting and taking back, with the jobs run as a worker would, against the strict Supermemory and Honcho servers. */
import { describe, expect, it } from "vitest";
import { ProviderGuard } from "../../../src/providers/guard.js";
import { HonchoProvider } from "../../../src/providers/honcho.js";
import { ProviderPeople } from "../../../src/providers/people.js";
import { personTag, spaceTag } from "../../../src/providers/place.js";
import { Recall } from "../../../src/providers/recall.js";
import { SupermemoryProvider } from "../../../src/providers/supermemory.js";
import { createProviderHandlers } from "../../../src/providers/sync.js";
import type { MemoryProvider } from "../../../src/ports/memory-provider.js";
import type { JobHandler } from "../../../src/ports/job-queue.js";
import { noUsage } from "../../../src/domain/transcript.js";
import { createJobLedger } from "../../../src/storage/job-ledger.js";
import { createProviderStore } from "../../../src/storage/provider-store.js";
import { turnIntents } from "../../../src/providers/intents.js";
import { startHonchoServer } from "../../support/honcho-server.js";
import { startSupermemoryServer } from "../../support/supermemory-server.js";
import { collectingLogger } from "../../support/runtime.js";
import { tempHome } from "../../support/temp-home.js";
import { countingIds, openTestStores } from "../storage/open-stores.js";

type World = Awaited<ReturnType<typeof worldOf>>;

async function worldOf(provider: MemoryProvider) {
  const stores = await openTestStores(tempHome());
  const { clock, db } = stores;
  const ids = countingIds("j");
  const store = createProviderStore({ db, ids });
  const ledger = createJobLedger({ db });
  const logger = collectingLogger();
  const memory = new ProviderGuard({ provider, store, clock, logger, notice: async () => [], limits: { prefetchMs: 500, callMs: 2_000 } });
  const files = new Map<string, string[]>();
  const handlers = createProviderHandlers({
    memory,
    store,
    clock,
    logger,
    sessions: stores.sessions,
    turns: stores.turns,
    entries: ({ target, id }) => files.get(`${target}:${id}`) ?? [],
    watermark: (sessionId) => ledger.watermark("provider-sync", sessionId),
    personOf: async (platform, accountId) => (await stores.access.account(platform, accountId))?.personId,
  });
  const people = new ProviderPeople({ memory, store, sessions: stores.sessions, access: stores.access, clock, ids, wake: () => undefined });
  const runJobs = async (): Promise<void> => {
    clock.time += 700_000;
    for (const row of await ledger.due(clock.time, 100)) {
      const job = await ledger.claim(row.id, "w", 60_000, clock.time);
      if (typeof job === "string" || !("payload" in job)) continue;
      const handler = handlers[job.kind as keyof typeof handlers] as JobHandler;
      const result = await handler(job, { signal: new AbortController().signal, heartbeat: async () => undefined });
      if ("postponeMs" in result) throw new Error(result.reason);
      await ledger.finish(job.id, job.fence, result.watermarks, clock.time);
    }
  };
  return { stores, store, memory, people, files, runJobs, recall: () => new Recall({ memory, store, clock, logger }) };
}

/** An account says something in a direct message or a group, and is answered. */
async function talk(
  world: World,
  accountId: string,
  said: string,
  group?: string,
): Promise<{ readonly personId: string; readonly sessionId: string }> {
  const { stores } = world;
  const { personId } = await stores.access.ensureAccount("t", { id: accountId, displayName: accountId }, 1);
  const chat = group ?? accountId;
  const spaceId = group === undefined ? personId : (await stores.access.noteChat("t", { id: group, kind: "group" }, 1)).spaceId;
  const session = await stores.sessions.create(
    {
      id: `s${chat.replaceAll("-", "")}`,
      key: `t/${chat}`,
      spaceId,
      spaceKind: group === undefined ? "person" : "group",
      platform: "t",
      chatId: chat,
      chatKind: group === undefined ? "dm" : "group",
      origin: `t:${chat}`,
      route: { platform: "t", chatId: chat },
      ...(group === undefined ? { personId } : {}),
    },
    1,
  );
  const id = `turn${said.replaceAll(/\W/g, "")}`;
  const speaker = { platform: "t", accountId, personId, role: "user" as const, displayName: accountId };
  const turn = await stores.turns.begin(
    { id, sessionId: session.id, inboxIds: [], speaker, route: session.route, user: { role: "user", content: said }, said },
    1,
  );
  await stores.turns.commit(
    {
      turnId: id,
      claim: turn.claim,
      outcome: "answered",
      entries: [turn.user, { role: "assistant", content: `re: ${said}` }],
      outbox: [],
      inbox: [],
      usage: noUsage,
      model: "m",
      iterations: 1,
      counts: { memoryTurns: 0, skillIterations: 0 },
      decide: (counters, last) => ({ counters, intents: turnIntents(session, id, last, stores.clock.time, 0) }),
    },
    stores.clock.time,
  );
  return { personId, sessionId: session.id };
}

async function recalled(world: World, sessionId: string, personId: string, said: string): Promise<string> {
  const session = await world.stores.sessions.byId(sessionId);
  const speaker = { platform: "t", accountId: "x", personId, role: "user" as const, displayName: "x" };
  return (session === undefined ? undefined : await world.recall().forTurn(session, { id: `r${said}`, said, speaker })) ?? "";
}

async function moveAccount(world: World, accountId: string, personId: string, sessionId: string): Promise<void> {
  await world.stores.db.write((tx) => {
    tx.run("update accounts set person_id = ? where account_id = ?", [personId, accountId]);
    tx.run("update sessions set person_id = ?, space_id = ? where id = ?", [personId, personId, sessionId]);
  });
}

describe("recall in a group", () => {
  it("ME-14: holds what belongs to the group and nothing of anybody's direct messages", async () => {
    const server = await startSupermemoryServer();
    const world = await worldOf(new SupermemoryProvider({ apiKey: "k", baseUrl: server.url }));
    const own = await talk(world, "a", "my green diary");
    const group = await talk(world, "a", "our green plan", "g");
    await world.runJobs();
    const groupSpace = (await world.stores.sessions.byId(group.sessionId))?.spaceId ?? "";
    server.memories.push(
      { id: "m1", containerTag: spaceTag(own.personId), memory: "Hides a green diary." },
      { id: "m2", containerTag: spaceTag(groupSpace), memory: "The group has a green plan." },
    );

    const inGroup = await recalled(world, group.sessionId, own.personId, "anything green");
    const inDm = await recalled(world, own.sessionId, own.personId, "anything green here");

    expect(inGroup).toContain("green plan");
    expect(inGroup).not.toContain("diary");
    expect(inDm).toContain("diary");
    expect(inDm).not.toContain("plan");
  });
});

describe("linked accounts at Supermemory", () => {
  it("share what is known while linked, and nothing of the other after /unlink", async () => {
    const server = await startSupermemoryServer();
    const world = await worldOf(new SupermemoryProvider({ apiKey: "k", baseUrl: server.url }));
    const keep = await talk(world, "a", "my green garden");
    const gone = await talk(world, "b", "my green boat");
    await world.runJobs();
    server.memories.push({ id: "m1", containerTag: spaceTag(gone.personId), memory: "Owns a green boat." });

    await moveAccount(world, "b", keep.personId, gone.sessionId);
    await world.people.link(keep.personId, gone.personId);
    await world.runJobs();
    expect(await recalled(world, keep.sessionId, keep.personId, "what is green")).toContain("Owns a green boat.");
    await talk(world, "b", "green while linked");
    await world.runJobs();

    await moveAccount(world, "b", gone.personId, gone.sessionId);
    await world.people.unlink({ stays: keep.personId, leaves: gone.personId, was: gone.personId, sessionIds: [gone.sessionId] });
    expect(await recalled(world, keep.sessionId, keep.personId, "still green")).toBe("");
    await world.runJobs();

    expect(await recalled(world, keep.sessionId, keep.personId, "again green")).not.toContain("boat");
    const ofKeep = server.documents
      .filter(({ containerTag }) => containerTag === spaceTag(keep.personId))
      .map(({ content }) => content)
      .join();
    const ofGone = server.documents
      .filter(({ containerTag }) => containerTag === spaceTag(gone.personId))
      .map(({ content }) => content)
      .join();
    expect(ofKeep).toContain("my green garden");
    expect(ofKeep).not.toMatch(/boat|while linked/);
    expect(ofGone).toMatch(/my green boat[\s\S]*green while linked/);
    expect(server.unknown).toEqual([]);
  });

  it("ME-22: a forgotten entry is not recalled while its deletion is on its way, and is gone there afterwards", async () => {
    const server = await startSupermemoryServer();
    const world = await worldOf(new SupermemoryProvider({ apiKey: "k", baseUrl: server.url }));
    const { personId, sessionId } = await talk(world, "a", "hello green");
    const owner = { target: "user", id: personId } as const;
    const { mirrorIntent } = await import("../../../src/providers/intents.js");
    world.files.set(`user:${personId}`, ["Has a green parrot."]);
    await world.store.addIntents([mirrorIntent(owner, false, "k1", 0)], 0);
    await world.runJobs();
    server.memories.push({ id: "m1", containerTag: spaceTag(personId), memory: "Has a green parrot." });
    expect(server.documents.map(({ content }) => content)).toContain("Has a green parrot.");

    world.files.set(`user:${personId}`, []);
    await world.store.addIntents([mirrorIntent(owner, true, "k2", 0)], 0);
    expect(await recalled(world, sessionId, personId, "green bird")).toBe("");
    await world.runJobs();

    expect(server.documents.map(({ content }) => content)).not.toContain("Has a green parrot.");
  });

  it("a turn that was taken back is not sent, or replaced where it was", async () => {
    const server = await startSupermemoryServer();
    const world = await worldOf(new SupermemoryProvider({ apiKey: "k", baseUrl: server.url }));
    const { sessionId, personId } = await talk(world, "a", "keep me");
    await talk(world, "a", "take me back");
    const session = { id: sessionId, spaceId: personId };
    expect(await world.people.forgetTurn(session, "turntakemeback")).toBe("not-synced");
    await world.runJobs();
    expect(await world.people.forgetTurn(session, "turntakemeback")).toBe("deleting");
    await world.runJobs();

    expect(server.documents.map(({ content }) => content)).toEqual(["[user] keep me\n[assistant] re: keep me"]);
  });
});

describe("a person who is forgotten at Honcho", () => {
  it("leaves the conversations of others in a group, without their own words", async () => {
    const server = await startHonchoServer();
    const world = await worldOf(
      new HonchoProvider({ workspace: "w", baseUrl: server.url, contextEvery: 1, dialecticEvery: 3, dialecticDepth: 1 }),
    );
    const amy = await talk(world, "a", "my secret");
    await talk(world, "a", "amy in the group", "g");
    await talk(world, "b", "bob in the group", "g");
    await world.runJobs();
    server.conclude(personTag({ personId: amy.personId, spaceId: amy.personId }), "Amy has a secret.");
    expect(server.messages.map(({ content }) => content)).toEqual(
      expect.arrayContaining(["my secret", "amy in the group", "bob in the group"]),
    );

    await world.people.forgetPerson(amy.personId);
    await world.stores.db.write((tx) =>
      tx.run("delete from messages where account_id = 'a' or entry like '%re: amy%' or entry like '%re: my%'"),
    );
    await world.runJobs();

    expect(server.messages.map(({ content }) => content)).toEqual(["bob in the group", "re: bob in the group"]);
    expect(server.conclusions).toEqual([]);
    expect(await world.people.forgetTurn({ id: "sg", spaceId: "x" }, "turnbobinthegroup")).toBe("kept");
  });
});
