/** Sessions that continue others, on a real file. */
import { describe, expect, it } from "vitest";
import { noUsage } from "../../../src/domain/transcript.js";
import { createHandovers } from "../../../src/storage/handovers.js";
import { tempHome } from "../../support/temp-home.js";
import { countingIds, openTestStores } from "./open-stores.js";

async function opened() {
  const stores = await openTestStores(tempHome());
  const handovers = createHandovers({ db: stores.db, ids: countingIds("h") });
  const route = { platform: "chat", chatId: "c1" };
  const place = {
    key: "k",
    spaceId: "p1",
    spaceKind: "person",
    personId: "p1",
    platform: "chat",
    chatId: "c1",
    chatKind: "dm",
    origin: "o",
    route,
  } as const;
  await stores.sessions.create({ id: "s1", ...place }, 1);
  await stores.sessions.setTitle("s1", "The plan");
  const speaker = { platform: "chat", accountId: "amy", personId: "p1", role: "user", displayName: "Amy" } as const;
  const begin = (id: string, sessionId = "s1") =>
    stores.turns.begin({ id, sessionId, inboxIds: [], speaker, route, user: { role: "user", content: id }, said: id }, 2);
  const commit = (id: string) =>
    stores.turns.commit(
      {
        turnId: id,
        claim: 1,
        outcome: "answered",
        entries: [
          { role: "user", content: id },
          { role: "assistant", content: `answer to ${id}` },
        ],
        outbox: [],
        inbox: [],
        usage: noUsage,
        model: "m",
        iterations: 1,
        counts: { memoryTurns: 0, skillIterations: 0 },
        decide: (counters) => ({ counters, intents: [] }),
      },
      3,
    );
  const say = async (id: string, sessionId = "s1"): Promise<void> => {
    await begin(id, sessionId);
    await commit(id);
  };
  return { ...stores, handovers, begin, say };
}

const change = { parentId: "s1", childId: "s2", text: "<session-handover>", intents: [] };

describe("a session that continues another", () => {
  it("takes its place and its title, and shows head, hand-over, tail and its own messages in order", async () => {
    const { sessions, handovers, say } = await opened();
    for (const turn of ["one", "two", "three"]) await say(turn);
    const [a, b, , , e, f] = (await handovers.history("s1")).map(({ id }) => id);

    expect(await handovers.continueIn({ ...change, headIds: [a ?? 0, b ?? 0], tailIds: [e ?? 0, f ?? 0] }, 4)).toBe("continued");
    await say("four", "s2");

    const child = await sessions.active("k");
    expect(child).toMatchObject({ id: "s2", parentId: "s1", title: "The plan", personId: "p1" });
    expect(await sessions.byId("s1")).toMatchObject({ endReason: "continued" });
    const history = await handovers.history("s2");
    expect(history.map(({ entry }) => entry.content)).toEqual([
      "one",
      "answer to one",
      "<session-handover>",
      "three",
      "answer to three",
      "four",
      "answer to four",
    ]);
    // Nobody said the hand-over: it is no source for memory and nothing to search.
    expect(history[2]).toMatchObject({ id: 0, text: "" });
    expect(history[2]).not.toHaveProperty("accountId");
    expect((await sessions.entries("s2")).map(({ entry }) => entry.content)).toEqual(["four", "answer to four"]);
  });

  it("is not begun while another turn runs, nor twice", async () => {
    const { handovers, say, begin, sessions } = await opened();
    await say("one");
    await begin("two");

    expect(await handovers.continueIn({ ...change, headIds: [], tailIds: [] }, 4)).toBe("busy");
    expect((await sessions.active("k"))?.id).toBe("s1");
    expect(await handovers.continueIn({ ...change, headIds: [], tailIds: [], turn: { id: "two", claim: 1 } }, 4)).toBe("continued");
    expect(await handovers.continueIn({ ...change, childId: "s3", headIds: [], tailIds: [] }, 5)).toBe("gone");
  });

  it("takes a running turn along, unless that turn was taken over: then nothing happens", async () => {
    const { handovers, begin, turns, sessions } = await opened();
    await begin("one");
    await turns.takeOver("one", true);

    const moved = handovers.continueIn({ ...change, headIds: [], tailIds: [], turn: { id: "one", claim: 1 } }, 4);
    await expect(moved).rejects.toMatchObject({ code: "turn.outdated" });
    expect((await sessions.active("k"))?.id).toBe("s1");

    await handovers.continueIn({ ...change, headIds: [], tailIds: [], turn: { id: "one", claim: 2 } }, 4);
    expect(await turns.byId("one")).toMatchObject({ sessionId: "s2", state: "running" });
  });

  it("uses up what was prepared for its parent", async () => {
    const { handovers, say } = await opened();
    await say("one");
    const prepared = { sessionId: "s1", text: "t", headIds: [1], upTo: 2, at: 3 };
    await handovers.prepare(prepared, []);
    await handovers.prepare({ ...prepared, text: "newer" }, []);
    expect(await handovers.prepared("s1")).toEqual({ ...prepared, text: "newer" });

    await handovers.continueIn({ ...change, headIds: [], tailIds: [] }, 4);

    expect(await handovers.prepared("s1")).toBeUndefined();
  });
});
