/**
 * `npx tsx test/bench/recall.ts`: how often the right session is among the first three, for variants of the ranking, on synthetic long
 * conversations. The figures compare variants; they say nothing of other corpora.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureRecall } from "./recall-run.js";

const dir = mkdtempSync(join(tmpdir(), "mneme-recall-"));
try {
  for (const { variant, first, amongThree, questions } of await measureRecall(dir)) {
    process.stdout.write(
      `${variant.padEnd(46)} first ${first.toFixed(3)}  among three ${amongThree.toFixed(3)}  (${questions} questions)\n`,
    );
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
