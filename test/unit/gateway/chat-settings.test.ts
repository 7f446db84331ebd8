/** Which of several places decides what a chat does differently. */
import { describe, expect, it } from "vitest";
import { ChatSettings } from "../../../src/gateway/chat-settings.js";

const place = { platform: "slack", chatId: "C1", threadId: "17.5", containerId: "T1" };

function settings(
  configured: ConstructorParameters<typeof ChatSettings>[0]["configured"],
  chosen: { scope: string; key: string; value: string }[] = [],
) {
  const stored: unknown[] = [];
  const overlay = { set: async (...row: readonly unknown[]): Promise<void> => void stored.push(row) };
  return { stored, chats: new ChatSettings({ overlay, configured, model: "standard", busyMode: "queue", chosen }) };
}

describe("settings of chats", () => {
  it("the nearest place that says something counts: thread, chat, channel above, workspace", () => {
    const { chats } = settings({
      "slack:T1": { model: "w", busyMode: "steer" },
      "slack:C1": { model: "c" },
      "slack:C1/17.5": { model: "t" },
    });
    expect(chats.modelOf(place)).toBe("t");
    expect(chats.modelOf({ ...place, threadId: undefined })).toBe("c");
    expect(chats.modelOf({ platform: "slack", chatId: "D9", parentId: "C1" })).toBe("c");
    expect(chats.busyModeOf(place)).toBe("steer");
    expect(chats.modelOf({ platform: "telegram", chatId: "C1" })).toBe("standard");
  });

  it("what people chose goes over the settings, is stored for the next start, and can be taken back", async () => {
    const { chats, stored } = settings({ "slack:C1": { model: "c" } }, [{ scope: "chat:slack:C1", key: "busy", value: "interrupt" }]);
    const chat = { platform: "slack", chatId: "C1" };
    expect(chats.busyModeOf(chat)).toBe("interrupt");
    await chats.choose(chat, "model", "mine");
    expect(chats.modelOf(chat)).toBe("mine");
    expect(chats.busyModeOf(chat)).toBe("interrupt");
    await chats.choose(chat, "model", undefined);

    expect(chats.modelOf(chat)).toBe("c");
    expect(stored).toEqual([
      ["chat:slack:C1", "model", "mine"],
      ["chat:slack:C1", "model", undefined],
    ]);
  });

  it("a stored value that no mode has is ignored", () => {
    const { chats } = settings({}, [{ scope: "chat:slack:C1", key: "busy", value: "whatever" }]);
    expect(chats.busyModeOf({ platform: "slack", chatId: "C1" })).toBe("queue");
  });
});
