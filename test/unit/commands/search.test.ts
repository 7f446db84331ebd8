import { describe, expect, it } from "vitest";
import { searchCommands } from "../../../src/commands/search.js";
import type { InboundMessage } from "../../../src/domain/message.js";
import { openSearchStore, type SearchStore } from "../../support/search-store.js";

async function say(store: SearchStore, args: string, more: { readonly spaceId?: string; readonly key?: string } = {}): Promise<string> {
  const { personId } = await store.stores.access.ensureAccount("chat", { id: "amy", displayName: "Amy" }, 1);
  const [command] = searchCommands({ index: store.index, sessions: store.stores.sessions, timeZone: "UTC" });
  const inGroup = more.spaceId !== undefined;
  const reply = await command?.run({
    name: "search",
    args,
    message: {} as InboundMessage,
    speaker: { platform: "chat", accountId: "amy", personId, role: "user", displayName: "Amy" },
    place: { key: more.key ?? "k", spaceId: more.spaceId ?? personId, spaceKind: inGroup ? "group" : "person", origin: "o" },
    inGroup,
    language: "en",
    form: (word) => `/${word}`,
  });
  return reply?.markdown ?? "";
}

describe("/search", () => {
  it("shows past conversations with what was said in them, and not the running one", async () => {
    const store = await openSearchStore();
    await store.begin("s1");
    await store.turn("s1", "The *boiler* shows error E17", "Bleed the radiator");
    await store.begin("now");
    await store.turn("now", "boiler again", "yes");

    const shown = await say(store, "boiler", { key: "key-now" });

    expect(shown).toContain("Past conversations about boiler:");
    expect(shown).toContain("- **2023-11-14** The \\*boiler\\* shows error E17");
    expect(shown).toContain("> The \\*boiler\\* shows error E17");
    expect(shown).not.toContain("boiler again");
    expect(await say(store, "giraffe")).toBe("No past conversation matches giraffe.");
    expect(await say(store, "  ")).toContain("`/search`");
  });

  it("SR-06: shows nothing of a person's own conversations in a group", async () => {
    const store = await openSearchStore();
    await store.begin("s1");
    await store.turn("s1", "The boiler shows error E17", "Bleed the radiator");
    expect(await say(store, "boiler", { spaceId: "g" })).toBe("No past conversation matches boiler.");
  });
});
