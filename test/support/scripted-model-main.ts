/**
 * The scripted model as a process of its own: `tsx test/support/scripted-model-main.ts [--script FILE] [--port N] [--log FILE]`.
 * Prints one JSON line with its URL when it listens; with `--log`, appends every accepted request as one JSON line.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { startScriptedModel } from "./scripted-model.js";
import { answerOf, type Script } from "./scripted-model-script.js";

const { values } = parseArgs({
  options: { script: { type: "string" }, port: { type: "string" }, log: { type: "string" } },
});
const script = values.script === undefined ? {} : (JSON.parse(readFileSync(values.script, "utf8")) as Script);
const { log } = values;
const server = await startScriptedModel({
  answer: answerOf(script),
  port: Number(values.port ?? 0),
  ...(log === undefined ? {} : { onRequest: (request) => appendFileSync(log, `${JSON.stringify(request.body)}\n`) }),
});
process.stdout.write(`${JSON.stringify({ url: server.url, port: server.port })}\n`);
for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => void server.stop());
