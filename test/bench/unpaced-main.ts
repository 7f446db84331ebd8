/**
 * The gateway without the platform's pace, to measure what the program itself manages. Everything else is what
 * `mneme start` runs.
 */
import { buildAdapters } from "../../adapters/registry.js";
import { processEnvironment } from "../../config/env.js";
import { loadConfig } from "../../config/load.js";
import { buildGateway } from "../../src/app/build.js";
import { createIds, systemClock } from "../../src/app/runtime.js";
import { createLogger } from "../../src/app/logger.js";
import { createRedactor } from "../../src/safety/redact.js";

const config = loadConfig({ env: processEnvironment(), cwd: process.cwd() });
const logger = createLogger({ level: "info", redactor: createRedactor({ secrets: [] }), destination: 1 });
const deps = { clock: systemClock, logger };
const adapters = await buildAdapters(config, deps);
for (const adapter of adapters) {
  const pace = { chatPerSecond: 1_000, groupPerMinute: 60_000, botPerSecond: 100_000 };
  Object.defineProperty(adapter, "capabilities", { value: { ...adapter.capabilities, pace } });
}
const gateway = await buildGateway({ config, adapters, ids: createIds(deps), ...deps });
await gateway.start();
// The memory that is in use, rather than what the collector has not got to yet.
process.on("SIGUSR2", () => {
  globalThis.gc?.();
  logger.info({ heapBytes: process.memoryUsage().heapUsed }, "heap");
});
const alive = setInterval(() => undefined, 60_000);
process.once("SIGTERM", () => {
  clearInterval(alive);
  void gateway.stop(1_000);
});
