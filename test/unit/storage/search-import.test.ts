import { describe, expect, it } from "vitest";
import { importTranscripts, type ImportedMessage } from "../../../src/storage/transcript-import.js";
import { openSearchStore } from "../../support/search-store.js";

const all = { origins: "all" as const };

function line(session: string, text: string, more: Partial<ImportedMessage> = {}): ImportedMessage {
  return { session, space: "talk", role: "user", author: "Caroline", at: 1_684_000_000_000, text, ...more };
}

async function* lines(...messages: ImportedMessage[]): AsyncGenerator<ImportedMessage> {
  yield* messages;
}

describe("importing transcripts", () => {
  it("makes them searchable by words and by questions before it ends", async () => {
    const store = await openSearchStore();
    const sums = await importTranscripts(
      store.db,
      lines(
        line("a", "I adopted two puppies"),
        line("a", "How lovely", { role: "assistant" }),
        line("b", "The train was late"),
        line("b", "The train was late"),
      ),
      1,
    );
    expect(sums).toEqual({ messages: 4, known: 0, sessions: 2 });
    expect(await store.found("puppies", all)).toEqual(["a"]);
    expect((await store.found("Who adopts a puppy?", all))[0]).toBe("a");
    expect((await store.found("What did Caroline say in May 2023 about the trains?", all))[0]).toBe("b");
    expect(await store.index.check()).toMatchObject({ ok: true });
  });

  it("stores nothing twice when it is repeated, and goes on where a longer file does", async () => {
    const store = await openSearchStore();
    const first = [line("a", "one"), line("a", "ok"), line("a", "ok")];
    await importTranscripts(store.db, lines(...first), 1);
    expect(await importTranscripts(store.db, lines(...first, line("a", "giraffe")), 1)).toEqual({ messages: 1, known: 3, sessions: 1 });
    expect(await store.found("giraffe", all)).toEqual(["a"]);
    expect(await store.stores.sessions.entries("a")).toHaveLength(4);
  });

  it("keeps sessions of two spaces apart although both count them alike", async () => {
    const store = await openSearchStore();
    await importTranscripts(store.db, lines(line("1", "apples"), line("1", "pears", { space: "other" })), 1);
    expect(await store.found("apples OR pears", all)).toEqual(["other:1", "1"]);
    expect(await store.found("apples", { origins: await store.index.originsOfGroup("other") })).toEqual([]);
    expect(await store.found("apples", { origins: await store.index.originsOfGroup("talk") })).toEqual(["1"]);
  });

  it("lets a person search what was imported into their space", async () => {
    const store = await openSearchStore();
    const { personId } = await store.stores.access.ensureAccount("chat", { id: "amy", displayName: "Amy" }, 1);
    await importTranscripts(store.db, lines(line("old", "the boiler was loud", { space: personId })), 1);
    expect(await store.found("boiler", { origins: await store.index.originsOf(personId) })).toEqual(["old"]);
  });

  it("adds nothing to a session that was held here", async () => {
    const store = await openSearchStore();
    await store.begin("s1", { spaceId: "talk", spaceKind: "group", origin: "chat:chat:talk", chatKind: "group" });
    await expect(importTranscripts(store.db, lines(line("s1", "x")), 1)).rejects.toThrow(/was held here/u);
  });
});
