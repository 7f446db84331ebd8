/**
 * `npm run bench:search [-- --small]`: a million messages (50,000 with --small), once as a space of 20,000 among others and once as one
 * space that holds all. Prints what was measured, whatever it is.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { runSearchBench, smallRun, type SearchFigures } from "./search-run.js";

const small = process.argv.includes("--small");
const count = small ? smallRun.count : 1_000_000;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const ratio = (bytes: number, figures: SearchFigures): string => `${(bytes / figures.textBytes).toFixed(2)} x the text`;

print(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1) ?? ""}`);
for (const spaceSize of [small ? smallRun.spaceSize : 20_000, count]) {
  const dir = mkdtempSync(join(tmpdir(), "mneme-search-"));
  try {
    const figures = await runSearchBench({
      dir,
      count,
      spaceSize,
      queries: small ? smallRun.queries : 100,
      checks: small ? smallRun.checks : 30,
    });
    print(
      `\n${figures.messages} messages, ${mb(figures.textBytes)} of text; inserted and indexed at ${figures.insertsPerSecond.toFixed(0)} messages/s`,
    );
    print(
      `fts_message ${mb(figures.messageIndexBytes)} (${ratio(figures.messageIndexBytes, figures)}), fts_stretch ${mb(figures.stretchIndexBytes)} (${ratio(figures.stretchIndexBytes, figures)}), both ${ratio(figures.messageIndexBytes + figures.stretchIndexBytes, figures)}; database ${mb(figures.databaseBytes)}`,
    );
    for (const scope of figures.scopes) {
      print(scope.name);
      for (const { kind, p50, p95, max, cpu } of scope.kinds) {
        print(
          `  ${kind.padEnd(24)} p50 ${p50.toFixed(1)} ms  p95 ${p95.toFixed(1)} ms  max ${max.toFixed(1)} ms  (processor time ${cpu.toFixed(1)} ms each)`,
        );
      }
      print(`  longest stop of the event loop ${scope.longestBlock.toFixed(1)} ms (idle: ${scope.idleBlock.toFixed(1)} ms)`);
      print(
        `  ${scope.checked} queries checked against a scan, ${scope.wrong.length} wrong${scope.wrong
          .slice(0, 5)
          .map((one) => `\n    ${one}`)
          .join("")}`,
      );
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
