/** One run for all tests. Files run in processes of their own, two at a time, since many of them start servers and child processes. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/fixtures/**", "node_modules/**"],
    pool: "forks",
    maxWorkers: 2,
    // Many tests start servers and processes; a machine that is busy with something else gets a second try, a fault fails twice.
    retry: process.env["CI"] === undefined ? 0 : 1,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
    unstubEnvs: true,
    expect: { requireAssertions: false },
    reporters:
      process.env["CI"] === undefined
        ? ["default"]
        : [
            ["default", { summary: false }],
            ["json", { outputFile: ".tmp/tests.json" }],
          ],
  },
});
