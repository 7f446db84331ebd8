import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseQuery } from "../../../src/recall/query.js";
import { feedMessages } from "../../../src/storage/search-feed.js";
import { amyOrigin, openSearchStore, type SearchStore } from "../../support/search-store.js";

const bob = { key: "bob", spaceId: "p2", personId: "p2", origin: "chat:dm:bob" };

async function withSession(texts: readonly string[]): Promise<SearchStore> {
  const store = await openSearchStore();
  await store.begin("s1");
  for (const text of texts) await store.turn("s1", text, "noted");
  return store;
}

describe("a search over past conversations", () => {
  it.each(["it's", "gateway/run.py", "50%", "user@host", "C++", "why?"])("SR-01: finds the everyday query %s", async (typed) => {
    const store = await withSession([`before ${typed} behind`]);
    expect(await store.found(typed)).toEqual(["s1"]);
  });

  it.each(["chat-send", "a:b", "-x", "AND", "NEAR(", '"open', "", "body:", "*", "^x", "x NOT", "(((", "\0", "'; drop table messages"])(
    "SR-02: takes %j without harm",
    async (typed) => {
      const store = await withSession(["nothing of the kind"]);
      expect(await store.found(typed)).toEqual([]);
    },
  );

  it("SR-02: keeps phrases in quotes", async () => {
    const store = await withSession(["the blue moon rose", "the moon is blue"]);
    const [hit] = await store.search('"blue moon"');
    expect(hit?.messages.map(({ text }) => text)).toEqual(["the blue moon rose"]);
  });

  it.each([
    ["记忆断裂", "昨天又遇到记忆断裂问题，怎么办"],
    ["断裂", "昨天又遇到记忆断裂问题，怎么办"],
    ["题", "记忆断裂问题"],
    ["東京", "来週は東京へ行く"],
    ["カメラ", "新しいｶﾒﾗを買った"],
    ["회의", "내일 회의는 취소되었습니다"],
    ["GPT模型", "换成GPT模型以后快多了"],
  ])("SR-03: finds %s", async (typed, text) => {
    const store = await withSession([text]);
    expect(await store.found(typed)).toEqual(["s1"]);
  });

  it("SR-03: does not join what punctuation parts", async () => {
    const store = await withSession(["我喜欢北。京剧也好"]);
    expect(await store.found('"北京"')).toEqual([]);
  });

  it("SR-05: takes per cent signs and underscores for what they are", async () => {
    const store = await withSession(["500 users", "a b"]);
    expect(await store.found("50%")).toEqual([]);
    expect(await store.found("a_c")).toEqual([]);
  });

  it("SR-06: finds only what was said in the origins asked for, also by message id and in the list", async () => {
    const store = await withSession(["the secret word is banana"]);
    const [hit] = await store.search("banana");
    const id = hit?.messages[0]?.id ?? 0;
    const other = { origins: [bob.origin], exceptSessions: [] };

    for (const typed of ["banana", "what is the secret word?", "banana OR secret", "ban*"]) {
      expect(await store.found(typed, other)).toEqual([]);
      expect(await store.found(typed, { origins: [] })).toEqual([]);
    }
    expect(await store.index.recent(other, 5)).toEqual([]);
    expect(await store.index.around(id, other, 1000)).toEqual([]);
    expect(await store.index.around(id, { origins: [amyOrigin], exceptSessions: [] }, 1000)).not.toEqual([]);
  });

  it("SR-06: lets the messages of others change neither order nor score", async () => {
    const store = await withSession(["the garden fence is green", "a fence needs paint"]);
    const before = await store.search("what about the garden fence?");
    await store.begin("other", bob);
    for (let round = 0; round < 20; round += 1) await store.turn("other", `garden garden ${round}`, "garden");
    await store.index.indexStretches("other", Number.MAX_SAFE_INTEGER);
    expect(await store.search("what about the garden fence?")).toEqual(before);
  });

  it("searches in a person's own direct messages and in no group", async () => {
    const store = await openSearchStore();
    const amy = await store.stores.access.ensureAccount("chat", { id: "amy", displayName: "Amy" }, 1);
    expect(await store.index.originsOf(amy.personId)).toEqual([amyOrigin]);
    await store.begin("g1", { spaceId: "g", spaceKind: "group", origin: "chat:chat:room", chatKind: "group" });
    expect(await store.index.originsOfGroup("g")).toEqual(["chat:chat:room"]);
    expect(await store.index.originsOfGroup(amy.personId)).toEqual([]);
  });

  it("finds nothing of a private session", async () => {
    const store = await openSearchStore();
    await store.begin("s1", { isPrivate: true });
    await store.turn("s1", "the secret word is banana", "noted");
    await store.index.indexStretches("s1", Number.MAX_SAFE_INTEGER);
    expect(await store.found("banana")).toEqual([]);
    expect(await store.found("what is the secret word?")).toEqual([]);
    expect(await store.index.recent({ origins: [amyOrigin], exceptSessions: [] }, 5)).toEqual([]);
    expect((await store.index.check()).ok).toBe(true);
  });

  it("looks only at the roles asked for", async () => {
    const store = await openSearchStore();
    await store.begin("s1");
    await store.turn("s1", "run it", "done", [
      { role: "assistant", content: "", toolCalls: [{ id: "c", name: "shell", arguments: "{}" }] },
      { role: "tool", callId: "c", name: "shell", content: "error E1234 banana" },
    ]);
    expect(await store.found("banana")).toEqual(["s1"]);
    expect(await store.found("banana", { roles: ["tool"] })).toEqual(["s1"]);
    expect(await store.found("banana", { roles: ["user", "assistant"] })).toEqual([]);
    expect(await store.found("what was the banana error?", { roles: ["user", "assistant"] })).toEqual([]);
  });

  it("counts a continued session as one with its ancestors and leaves the current one out, however much it holds", async () => {
    const store = await openSearchStore();
    await store.begin("old");
    await store.turn("old", "the boiler was repaired by Anna", "noted");
    await store.begin("first");
    await store.turn("first", "the boiler makes a noise", "I see");
    await store.begin("second", { parentId: "first" });
    for (let round = 0; round < 30; round += 1) await store.turn("second", `the boiler again ${round}`, "boiler boiler");

    const [hit, next] = await store.search("boiler noise OR boiler");
    expect([hit?.session.sessionId, next?.session.sessionId].toSorted()).toEqual(["old", "second"]);
    expect(await store.found("boiler", { exceptSessions: ["second"] })).toEqual(["old"]);
    expect(await store.found("boiler", { exceptSessions: ["first"] })).toEqual(["old"]);
    const list = await store.index.recent({ origins: [amyOrigin], exceptSessions: [] }, 5);
    expect(list.map(({ sessionId, messageCount, preview }) => ({ sessionId, messageCount, preview }))).toEqual([
      { sessionId: "second", messageCount: 62, preview: "the boiler makes a noise" },
      { sessionId: "old", messageCount: 2, preview: "the boiler was repaired by Anna" },
    ]);
    expect(await store.index.recent({ origins: [amyOrigin], exceptSessions: ["second"] }, 5)).toHaveLength(1);
  });

  it("finds the session of a natural question by its stretch, where no message holds the words as they are typed", async () => {
    const store = await openSearchStore();
    for (const [id, text] of [
      ["s1", "We finally adopted two puppies from the shelter"],
      ["s2", "The train to Lisbon was late"],
    ] as const) {
      await store.begin(id);
      await store.turn(id, text, "How nice!");
      await store.index.indexStretches(id, Number.MAX_SAFE_INTEGER);
    }
    const [hit] = await store.search("Who adopts a puppy?");
    expect(hit?.session.sessionId).toBe("s1");
    expect(hit?.messages[0]?.text).toContain("puppies");
  });

  it("ranks by what stands beside a message too", async () => {
    const store = await openSearchStore();
    await store.begin("right");
    await store.turn("right", "Which colour did the kitchen get?", "A warm ochre.");
    await store.begin("wrong");
    await store.turn("wrong", "The kitchen is small", "Noted.");
    await store.turn("wrong", "Something else entirely", "Yes.");
    expect((await store.found("kitchen ochre"))[0]).toBe("right");
  });

  it("indexes a stretch once, and anew when it has grown", async () => {
    const store = await openSearchStore();
    await store.begin("s1");
    const rows = () => store.db.read((tx) => tx.all<{ messages: number }>("select messages from search_stretches order by id"));
    for (let round = 0; round < 20; round += 1) await store.turn("s1", `step ${round}`, "yes");
    await store.index.indexStretches("s1", 10);
    await store.index.indexStretches("s1", Number.MAX_SAFE_INTEGER);
    await store.index.indexStretches("s1", Number.MAX_SAFE_INTEGER);
    expect(await rows()).toEqual([{ messages: 30 }, { messages: 10 }]);
    for (let round = 0; round < 20; round += 1) await store.turn("s1", `later ${round}`, "yes");
    await store.index.indexStretches("s1", Number.MAX_SAFE_INTEGER);
    expect(await rows()).toEqual([{ messages: 30 }, { messages: 30 }, { messages: 20 }]);
    expect((await store.index.check()).ok).toBe(true);
  });

  it("ST-05: has one hit with the new text and none with the old when a message is stored again", async () => {
    const store = await withSession(["the old word"]);
    const message = { id: 1, sessionId: "s1", spaceId: "p1", origin: amyOrigin, isPrivate: false, role: "user", at: 1 } as const;
    await store.db.write((tx) => {
      tx.run("update messages set said = 'the fresh text' where id = 1");
      feedMessages(tx, [{ ...message, text: "the fresh text" }]);
    });
    expect(await store.found("old")).toEqual([]);
    const [hit, none] = await store.search("fresh");
    expect(hit?.messages).toHaveLength(1);
    expect(none).toBeUndefined();
    expect(await store.index.check()).toMatchObject({ ok: true });
  });

  it("ST-04: reports an index row that was removed behind its back, and feeding again cures it", async () => {
    const store = await withSession(["a word to find"]);
    await store.db.write((tx) => tx.run("delete from fts_message where rowid = 1"));
    const { ok, detail } = await store.index.check();
    expect(ok).toBe(false);
    expect(detail).toMatch(/1 messages are not in the search index/u);
    await store.index.rebuild();
    expect(await store.index.check()).toMatchObject({ ok: true });
    expect(await store.found("word")).toEqual(["s1"]);
  });

  it("reports a fault as an error, never as an empty result", async () => {
    const store = await withSession(["a word to find"]);
    await store.db.write((tx) => tx.exec("drop table fts_message"));
    await expect(store.found("word")).rejects.toThrow(/search failed/u);
  });

  it("never throws, whatever is typed", async () => {
    const store = await withSession(["a word to find"]);
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom("OR", "AND", "NOT", '"', "NEAR(", "*", "^", "body :", ")", "-"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        await store.index.search(parseQuery(pieces.join(" ")), { origins: [amyOrigin], exceptSessions: [] }, 3);
      }),
      { numRuns: 300 },
    );
  });

  it("finds every stored word and every piece of Chinese of two or more characters", async () => {
    const store = await openSearchStore();
    await store.begin("s1");
    const latin = fc.stringMatching(/^[a-zäöüéñ0-9]{1,12}$/u);
    const han = fc.stringMatching(/^[一-龥]{2,8}$/u);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(latin, han), { minLength: 1, maxLength: 6 }), fc.nat(), async (words, at) => {
        await store.turn("s1", words.join(" "), "noted");
        const word = words[at % words.length] ?? "";
        const piece = /^[一-龥]/u.test(word) ? word.slice(at % (word.length - 1)).slice(0, 2) : word;
        const hits = await store.index.search({ ...parseQuery(piece), mode: "strict" }, { origins: [amyOrigin], exceptSessions: [] }, 3);
        expect(hits).toHaveLength(1);
      }),
      { numRuns: 60 },
    );
  });
});
