/**
 * What every memory provider must do, through its real client against a strict server. Provider tests beside this file say how to
 * start the service, how to put something into it, and what is in it.
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/domain/errors.js";
import type { MemoryProvider, ProviderPlace, SyncContext, SyncedTurn } from "../../src/ports/memory-provider.js";
import { ProviderGuard } from "../../src/providers/guard.js";
import { readable, spaceTag } from "../../src/providers/place.js";
import { createProviderStore } from "../../src/storage/provider-store.js";
import { openTestDatabase, countingIds } from "../unit/storage/open-stores.js";
import type { RecordingServer } from "../support/recording-server.js";
import { collectingLogger, systemClock } from "../support/runtime.js";
import { tempHome } from "../support/temp-home.js";

export interface ProviderDriver<Server extends RecordingServer> {
  readonly name: string;
  start(options?: { readonly port?: number }): Promise<Server>;
  make(url: string): MemoryProvider;
  /** The service has concluded this about a person in a space. */
  plant(server: Server, who: { readonly personId: string; readonly spaceId: string }, text: string): void;
  /** Texts of conversations that are stored, each message or document once. */
  conversations(server: Server): string[];
  /** Everything else that is kept: mirrored entries and facts. */
  facts(server: Server): string[];
  /** Names of the tools: one that searches, one that stores. */
  readonly searchTool: string;
  readonly storeTool: string;
  /** Ids that must occur in every request about a place. */
  readonly tagOf: (place: ProviderPlace) => string;
}

export const amy: ProviderPlace = { sessionId: "s1", spaceId: "amy", personId: "amy", isOwnSpace: true, aliases: [], generation: 0 };
export const inGroup: ProviderPlace = { sessionId: "s2", spaceId: "g1", personId: "amy", isOwnSpace: false, aliases: [], generation: 0 };
const bob: ProviderPlace = { ...amy, sessionId: "s3", spaceId: "bob", personId: "bob" };
const never = new AbortController().signal;

function turn(n: number, user: string, assistant: string): SyncedTurn {
  return { turnId: `t${n}`, personId: "amy", user, assistant, at: 1_800_000_000_000 + n };
}

function context(turns: readonly SyncedTurn[], uncertain = false): SyncContext {
  return { place: amy, conversation: turns, uncertain, signal: never };
}

export function memoryProviderContract<Server extends RecordingServer>(driver: ProviderDriver<Server>): void {
  const started = async (): Promise<{ readonly server: Server; readonly provider: MemoryProvider }> => {
    const server = await driver.start();
    return { server, provider: driver.make(server.url) };
  };

  describe(`the provider ${driver.name}`, () => {
    it("recalls what is known of the speaker in this place, and nothing of other places", async () => {
      const { server, provider } = await started();
      driver.plant(server, amy, "Amy likes green tea in the mornings.");
      driver.plant(server, inGroup, "The team drinks coffee together, green tea never.");
      driver.plant(server, bob, "Bob keeps a secret stock of green tea.");

      const own = await provider.prefetch?.("which green tea", amy, never);
      const group = await provider.prefetch?.("which green tea", inGroup, never);

      expect(own?.text).toContain("Amy likes green tea");
      expect(own?.text).not.toMatch(/team|secret/);
      expect(group?.text).toContain("The team drinks coffee");
      expect(group?.text).not.toMatch(/Amy likes|secret/);
      expect(server.unknown).toEqual([]);
    });

    it("ME-16: finds by recall what a tool stored, under the same tag in every request", async () => {
      const { server, provider } = await started();
      const call = { place: amy, callId: "call1" };

      const stored = await provider.handleToolCall?.(
        { ...call, name: driver.storeTool, input: { content: "Her sister is called Mina." } },
        never,
      );
      driver.plant(server, amy, "Her sister is called Mina.");
      const found = await provider.handleToolCall?.({ ...call, name: driver.searchTool, input: { query: "sister" } }, never);
      const recalled = await provider.prefetch?.("her sister", amy, never);

      expect(stored).toMatch(/\nid: \S+$/);
      expect(driver.facts(server)).toContain("Her sister is called Mina.");
      expect(found).toContain("Mina");
      expect(recalled?.text).toContain("Mina");
      const tag = driver.tagOf(amy);
      const about = server.requests.filter(({ path }) => !path.endsWith("/workspaces"));
      expect(about.filter(({ path, body }) => !`${path} ${JSON.stringify(body)}`.includes(tag)).map(({ path }) => path)).toSatisfy(
        (others: string[]) =>
          others.every((path) => path.includes(spaceTag("amy")) || path.endsWith("/peers") || path.endsWith("/conclusions/query")),
      );
    });

    it("refuses a place without a space before anything is sent", async () => {
      const { server, provider } = await started();

      const recalling = provider.prefetch?.("anything", { ...amy, spaceId: "" }, never);

      await expect(recalling).rejects.toMatchObject({ code: "input.invalid" });
      expect(server.lines().filter((line) => /documents|profile|context/.test(line))).toEqual([]);
    });

    it("stores each turn once, also when an earlier attempt arrived and nobody knew", async () => {
      const { server, provider } = await started();
      const one = turn(1, "I moved to Oslo", "Noted: Oslo.");
      const two = turn(2, "It rains here", "Take an umbrella.");

      await provider.syncTurn?.(one, context([one]));
      server.trouble = { kind: "cut", only: /POST .*(messages|documents)$/ };
      await expect(provider.syncTurn?.(two, context([one, two]))).rejects.toThrow();
      server.trouble = undefined;
      const ids = await provider.syncTurn?.(two, context([one, two], true));

      const stored = driver.conversations(server).join("\n");
      for (const text of ["I moved to Oslo", "Noted: Oslo.", "It rains here", "Take an umbrella."]) {
        expect(stored.split(text), text).toHaveLength(2);
      }
      expect(ids?.length).toBeGreaterThan(0);
    });

    it("keeps entries of the memory files and deletes them, also without knowing their id", async () => {
      const { server, provider } = await started();
      const entry = { target: "user", content: "Prefers short answers.", key: "a1b2" } as const;
      const other = { target: "memory", content: "The printer is in room 4.", key: "c3d4" } as const;
      const owner = { ...amy, sessionId: "" };

      const id = await provider.onMemoryWrite?.(entry, owner, false, never);
      const again = await provider.onMemoryWrite?.(entry, owner, true, never);
      await provider.onMemoryWrite?.(other, owner, false, never);
      expect(again).toBe(id);
      expect(driver.facts(server).toSorted()).toEqual(["Prefers short answers.", "The printer is in room 4."]);

      await provider.onMemoryRemove?.({ target: "user", key: "a1b2", remoteId: id ?? "", isIt: () => false }, owner, never);
      await provider.onMemoryRemove?.({ target: "user", key: "a1b2", remoteId: id ?? "", isIt: () => false }, owner, never);
      await provider.onMemoryRemove?.({ target: "memory", key: "c3d4", isIt: (text) => text === other.content }, owner, never);
      expect(driver.facts(server)).toEqual([]);
    });

    it("deletes a session with all that was stored in it, and takes it up again under a new id", async () => {
      const { server, provider } = await started();
      const one = turn(1, "I moved to Oslo", "Noted.");
      const turns = (await provider.syncTurn?.(one, context([one]))) ?? [];

      await provider.forgetSession?.(amy, { turns, facts: [] }, never);
      expect(driver.conversations(server)).toEqual([]);
      await provider.syncTurn?.(one, { ...context([one]), place: { ...amy, generation: 1 } });

      expect(driver.conversations(server).join()).toContain("Oslo");
    });

    it("exports what it holds about a person, and deletes it, leaving others alone", async () => {
      const { server, provider } = await started();
      const one = turn(1, "I moved to Oslo", "Noted.");
      await provider.syncTurn?.(one, context([one]));
      await provider.onMemoryWrite?.({ target: "user", content: "Prefers tea.", key: "k1" }, amy, false, never);
      await provider.onMemoryWrite?.({ target: "user", content: "Bob prefers beer.", key: "k2" }, bob, false, never);
      const person = { personId: "amy", aliases: [], groupSpaceIds: ["g1"], sessions: [{ sessionId: "s1", generation: 0 }] };

      const exported = JSON.stringify(await provider.exportPerson?.(person, never));
      await provider.forgetPerson?.(person, never);
      await provider.forgetPerson?.(person, never);

      expect(exported).toContain("I moved to Oslo");
      expect(exported).toContain("Prefers tea.");
      expect(exported).not.toContain("beer");
      expect([...driver.conversations(server), ...driver.facts(server)]).toEqual(["Bob prefers beer."]);
      expect(server.unknown).toEqual([]);
    });

    it("reads the past of a linked account too, and never writes there", async () => {
      const { server, provider } = await started();
      driver.plant(server, { personId: "old", spaceId: "old" }, "Amy plays the green violin.");
      const linked = { ...amy, aliases: ["old"] };
      const one = turn(1, "hello green", "hi");

      const recalled = await provider.prefetch?.("green violin", linked, never);
      const before = server.requests.length;
      await provider.syncTurn?.(one, { ...context([one]), place: linked });

      expect(recalled?.text).toContain("violin");
      expect(readable(linked)).toHaveLength(2);
      expect(JSON.stringify(server.requests.slice(before))).not.toMatch(/-old/);
    });

    it.each([
      ["answers 500", { kind: "status", status: 500 }],
      ["refuses the key", { kind: "status", status: 401 }],
      ["answers with a page", { kind: "garbage", text: "<html>hello</html>" }],
      ["answers with JSON of another shape", { kind: "garbage", text: '{"profile":7,"representation":[],"id":{}}' }],
      ["cuts the connection", { kind: "cut" }],
    ] as const)("ME-18: a service that %s is unavailable, and works again as soon as it is well", async (_what, trouble) => {
      const { server, provider } = await started();
      server.trouble = trouble;

      const error = await provider.prefetch?.("anything", amy, never).catch((thrown: unknown) => thrown);
      server.trouble = undefined;
      driver.plant(server, amy, "anything goes");
      const recalled = await provider.prefetch?.("anything", amy, never);

      expect(error).toBeInstanceOf(GatewayError);
      expect(error).toMatchObject({ code: "provider.unavailable" });
      expect(recalled?.text).toContain("anything goes");
    });

    it("ME-17: was down at the start and hangs later: a call ends at its deadline, and a good answer is used as soon as there is one", async () => {
      const first = await driver.start();
      const { port, url } = first;
      await first.stop();
      const guard = await guarded(driver.make(url));

      await expect(guard.prefetch("anything", amy)).rejects.toMatchObject({ code: "provider.unavailable" });
      const server = await driver.start({ port });
      server.trouble = { kind: "hang" };
      const begun = Date.now();
      await expect(guard.prefetch("anything", amy)).rejects.toMatchObject({ code: "provider.unavailable" });
      expect(Date.now() - begun).toBeLessThan(1_000);
      server.trouble = undefined;
      driver.plant(server, amy, "anything goes");

      expect((await guard.prefetch("anything", amy))?.text).toContain("anything goes");
    });
  });
}

async function guarded(provider: MemoryProvider): Promise<ProviderGuard> {
  const db = await openTestDatabase(tempHome());
  const store = createProviderStore({ db, ids: countingIds() });
  return new ProviderGuard({
    provider,
    store,
    clock: systemClock,
    logger: collectingLogger(),
    notice: async () => [],
    limits: { prefetchMs: 300, callMs: 1_000 },
  });
}
