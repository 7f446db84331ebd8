/** Property: whatever becomes of single parts, no part of a lane overtakes an unfinished earlier one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OutboxOutcome } from "../../../src/ports/mailbox.js";
import { tempHome } from "../../support/temp-home.js";
import { openTestStores } from "./open-stores.js";

const lanes = ["a", "b", "a/1"] as const;
type Act =
  | { readonly do: "add"; readonly lane: (typeof lanes)[number] }
  | { readonly do: "send"; readonly pick: number; readonly end: OutboxOutcome["state"] | "hang" }
  | { readonly do: "wait"; readonly ms: number };

const act = fc.oneof(
  fc.record({ do: fc.constant("add" as const), lane: fc.constantFrom(...lanes) }),
  fc.record({
    do: fc.constant("send" as const),
    pick: fc.nat(5),
    end: fc.constantFrom("sent" as const, "waiting" as const, "unknown" as const, "refused" as const, "expired" as const, "hang" as const),
  }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 80 }) }),
);

describe("the order of the outbox", () => {
  it("holds within each chat and thread whatever becomes of single parts", async () => {
    const stores = await openTestStores(tempHome());
    const { outbox } = stores;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts: readonly Act[]) => {
        run += 1;
        let now = stores.clock.time;
        const open = new Map<string, number[]>(lanes.map((lane) => [lane, []]));
        const laneOf = (id: number) => [...open].find(([, ids]) => ids.includes(id))?.[1] ?? [];
        const dueAt = new Map<number, number>();
        for (const step of acts) {
          if (step.do === "wait") now += step.ms;
          if (step.do === "add") {
            const [chat, thread] = step.lane.split("/");
            const route = { platform: "chat", chatId: `${chat ?? ""}-${run}`, ...(thread === undefined ? {} : { threadId: thread }) };
            const [id] = await outbox.add([{ kind: "reply", route, part: { plain: step.lane, payload: null } }]);
            open.get(step.lane)?.push(id ?? 0);
          }
          if (step.do !== "send") continue;
          const heads = (await outbox.heads(now, 1000)).filter((row) => row.route.chatId.endsWith(`-${run}`));
          for (const head of heads) {
            expect(laneOf(head.id)[0]).toBe(head.id);
            expect(dueAt.get(head.id) ?? 0).toBeLessThanOrEqual(now);
          }
          const chosen = heads[step.pick % Math.max(1, heads.length)];
          if (chosen === undefined || !(await outbox.sending(chosen.id)) || step.end === "hang") continue;
          if (step.end === "waiting") {
            dueAt.set(chosen.id, now + 50);
            await outbox.result(chosen.id, { state: "waiting", nextAt: now + 50, error: "again" });
            continue;
          }
          const outcome: OutboxOutcome =
            step.end === "sent" ? { state: "sent", sent: { chatId: "c", messageId: "1" }, at: now } : { state: step.end, error: "x" };
          await outbox.result(chosen.id, outcome);
          laneOf(chosen.id).shift();
        }
      }),
      { numRuns: 25 },
    );
  }, 30_000);
});
