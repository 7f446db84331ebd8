/** A database that is locked by another process, or a disk that is full, under the whole gateway. */
import { describe, expect, it } from "vitest";
import SqliteDriver from "better-sqlite3";
import { countRows, operatorId, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";

/** Holds the write lock, as another process would; returns what lets go. */
function lock(where: World): () => void {
  const db = new SqliteDriver(where.home.path("data", "mneme.db"));
  db.exec("begin immediate");
  return () => {
    db.exec("rollback");
    db.close();
  };
}

/** Longest time between two rounds of the event loop until the returned function is called, in milliseconds. */
function watchLoop(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("a database that another process holds locked for 3 s", () => {
  it("ST-01: a message that comes meanwhile is answered once, and the event loop goes on", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    await startGateway(where);
    const unlock = lock(where);
    const longest = watchLoop();

    where.telegram.say(operatorId, "hello");
    await wait(3_000);
    unlock();
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(longest()).toBeLessThan(500);
    expect(textsIn(where)).toEqual(["Answer."]);
  });

  it.each([
    { name: "between the inbox and the turn", on: "setMessageReaction" },
    { name: "while the model answers", on: "model" },
    { name: "while the answer is sent", on: "sendMessage" },
  ])(
    "ST-01: locked $name: the message is answered exactly once and the next one too",
    async ({ on }) => {
      const where = await world();
      where.telegram.person(operatorId);
      let release: () => void = () => undefined;
      let locked = false;
      const lockOnce = (): void => {
        if (locked) return;
        locked = true;
        const unlock = lock(where);
        release = unlock;
      };
      where.model.answerWith(async () => {
        if (on === "model") lockOnce();
        await wait(30);
        return "Answer.";
      });
      if (on === "sendMessage") where.telegram.fail("sendMessage", { delayMs: 50, match: () => (lockOnce(), true) });
      const { gateway } = await startGateway(where);
      if (on === "setMessageReaction") {
        const accept = gateway.parts.stores.inbox.accept.bind(gateway.parts.stores.inbox);
        Object.assign(gateway.parts.stores.inbox, {
          accept: async (events: Parameters<typeof accept>[0]) => {
            const rows = await accept(events);
            lockOnce();
            return rows;
          },
        });
      }

      where.telegram.say(operatorId, "hello");
      await until("the lock", () => locked);
      await wait(3_000);
      release();
      await until("the answer", () => textsIn(where).includes("Answer."), 12_000);
      await quiet(where, 12_000);
      where.telegram.say(operatorId, "again");
      await until("two answers", () => textsIn(where).filter((text) => text === "Answer.").length === 2, 12_000);
      await quiet(where);

      expect(textsIn(where)).toEqual(["Answer.", "Answer."]);
      expect(countRows(where, "select count(*) n from inbox where disposition = 'answered'")).toBe(2);
    },
    40_000,
  );
});

describe("a full disk", () => {
  it("says so to the person, stays alive, loses no message and works again once there is room", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    const { gateway, log } = await startGateway(where);
    where.telegram.say(operatorId, "before");
    await where.telegram.waitSent(1);
    await quiet(where);
    // A page limit gives SQLITE_FULL, as a full disk does. Free pages would hide it, so the answer is larger than they are.
    const pages = await gateway.parts.db.read((tx) => tx.get<{ page_count: number }>("pragma page_count")?.page_count ?? 0);
    const limit = (count: number): Promise<unknown> => gateway.parts.db.read((tx) => tx.all(`pragma max_page_count = ${count}`));
    where.model.answerWith(async () => {
      await limit(pages);
      return "A very long answer. ".repeat(1_500);
    });

    where.telegram.say(operatorId, "during");
    await until("a word to the person", () => textsIn(where).length >= 2, 12_000);
    const told = textsIn(where)[1];
    where.model.answerWith(() => "Answer after.");
    await limit(1_000_000);
    await until("the answer", () => textsIn(where).some((text) => text.startsWith("A very long answer.")), 20_000);
    where.telegram.say(operatorId, "next");
    await until("the next answer", () => textsIn(where).includes("Answer after."), 12_000);

    expect(told).not.toContain("SQLITE");
    expect(told).toContain("I cannot store anything just now");
    expect(where.model.requests).toHaveLength(3);
    expect(log.lines.some((line) => line.level === "error" && JSON.stringify(line.fields).includes("disk is full"))).toBe(true);
    expect(countRows(where, "select count(*) n from inbox where disposition = 'answered'")).toBe(3);
  }, 60_000);
});
