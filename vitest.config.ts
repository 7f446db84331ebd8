/** One run for all tests. Files run in processes of their own, two at a time, since many of them start servers and child processes. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/fixtures/**", "node_modules/**"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
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
