import { describe, expect, it } from "vitest";
import type { InboundMessage } from "../../../src/domain/message.js";
import type { Act } from "../../../src/gateway/acts.js";
import { RunningTurn } from "../../../src/gateway/running-turn.js";

function act(attachments: InboundMessage["attachments"]): Act {
  const message = { kind: "message", text: "more", attachments } as unknown as InboundMessage;
  const speaker = { platform: "chat", accountId: "1" } as Act["speaker"];
  return {
    inboxIds: [1],
    messages: [message],
    speaker,
    place: { key: "k", spaceId: "s", spaceKind: "person", origin: "o" },
    receivedAt: 0,
  };
}

describe("busyMode steer", () => {
  it("gives words to the running turn, and leaves a message with files to a turn of its own", () => {
    const turn = new RunningTurn({ act: act([]), now: 0 });
    expect(turn.trySteer(act([]))).toBe(true);
    expect(turn.trySteer(act([{ kind: "image", name: "photo.jpg", ref: null }]))).toBe(false);
  });
});
