/** The embedded queue under the shared suite. */
import { describe, expect, it } from "vitest";
import { createEmbeddedQueue, type EmbeddedQueue } from "../../src/jobs/embedded-queue.js";
import { systemClock } from "../support/runtime.js";
import { intent, openJobWorld } from "../support/jobs/world.js";
import { startWorkerProcess } from "../support/jobs/worker-process.js";
import { tempHome } from "../support/temp-home.js";
import { jobQueueContract } from "./job-queue.contract.js";

jobQueueContract({
  name: "embedded",
  async begin(world) {
    const queues: EmbeddedQueue[] = [];
    return {
      open() {
        const deps = { ledger: world.ledger, clock: systemClock, logger: world.log, dataVersion: () => world.db.dataVersion() };
        const queue = createEmbeddedQueue(deps);
        queues.push(queue);
        return queue;
      },
      wake() {
        for (const queue of queues) queue.wake();
      },
      async close() {
        await Promise.all(queues.map((queue) => queue.close(0)));
      },
    };
  },
});

describe("without Redis", () => {
  it("finds what another process has written, and loads no client library of Redis", async () => {
    const world = await openJobWorld(tempHome().path("mneme.db"));
    const order = { file: world.file, leaseMs: 1000, concurrency: 1, graceMs: 500, does: "work", ms: 5 } as const;
    const worker = await startWorkerProcess(order);

    await world.add(intent("written-here"));

    await world.until("done", ([job]) => job?.state === "done");
    expect(worker.lines[0]).toBe("ready");
    await worker.stop();
    await world.close();
  });
});
