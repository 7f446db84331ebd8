#!/usr/bin/env node
/**
 * Parses arguments and hands over to the command's own file, which is loaded only then: start-up time is a promise.
 * A new command is one entry here and one file beside this one.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, CommanderError } from "commander";
import { createContext, type CliContext, type GlobalOptions } from "./context.js";
import { describeFailure, exitCodes } from "./failure.js";

/** A command's own part: returns the exit code, throws what a person must be told. */
type Run<Options> = (context: CliContext, options: Options, ...args: string[]) => Promise<number>;

let context: CliContext | undefined;
let exitCode: number = exitCodes.ok;

/** The command's action: loads its file, runs it, keeps its exit code. */
function lazy<Options>(load: () => Promise<Run<Options>>): (this: Command, ...given: unknown[]) => Promise<void> {
  return async function action(this: Command, ...given) {
    const args = given.slice(0, -2).filter((value) => typeof value === "string");
    context = createContext(this.optsWithGlobals<GlobalOptions>());
    const run = await load();
    exitCode = await run(context, this.opts() as Options, ...args);
  };
}

function buildProgram(): Command {
  const program = new Command("mneme")
    .description("A gateway between chat platforms and one agent that learns.")
    .version(version(), "-V, --version", "print the version")
    .option("--config <file>", "settings file (default: mneme.yaml here, where there is one)")
    .option("--data <dir>", "data folder (default: data.dir of the settings)")
    .option("--verbose", "show the whole error when something fails")
    .helpCommand(false)
    .showHelpAfterError("`mneme --help` lists the commands, `mneme COMMAND --help` their options.")
    .exitOverride();
  program
    .command("init")
    .description("set up platforms, model and the first operator, with questions")
    .option("--yes", "ask nothing; only say what is needed")
    .action(lazy(async () => (await import("./init.js")).init));
  program
    .command("start")
    .description("run the gateway until it is stopped")
    .action(lazy(async () => (await import("./start.js")).start));
  program
    .command("chat")
    .description("talk to the agent in this terminal; needs no platform")
    .action(lazy(async () => (await import("./chat.js")).chat));
  program
    .command("status")
    .description("show platforms, queues and people, whether the gateway runs or not")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./status.js")).status));
  program
    .command("inbox")
    .description("show what came in and what became of it (why was there no answer?)")
    .option("--chat <id>", "only this chat")
    .option("--platform <name>", "only this platform")
    .option("--limit <n>", "how many, newest first", "20")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./inbox.js")).inbox));
  program
    .command("worker")
    .description("do background jobs from Redis in a process of their own")
    .option("--health", "only say by the exit code whether a worker of this machine lives")
    .action(lazy(async () => (await import("./worker.js")).worker));
  const jobs = program.command("jobs").description("list, retry and remove background jobs").helpCommand(false);
  jobs
    .command("list")
    .description("show jobs, newest first")
    .option("--state <state>", "open, active, done or failed")
    .option("--limit <n>", "how many", "30")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./jobs.js")).jobsList));
  jobs
    .command("retry <id>")
    .description("try a failed job again")
    .action(lazy(async () => (await import("./jobs.js")).jobsRetry));
  jobs
    .command("remove <id>")
    .description("take a job out of the ledger")
    .action(lazy(async () => (await import("./jobs.js")).jobsRemove));
  const pair = program.command("pair").description("list and approve the codes of people and groups that want in").helpCommand(false);
  pair
    .command("list")
    .description("show the codes that wait")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./pair.js")).pairList));
  pair
    .command("approve")
    .argument("<code>", "the code that the person was given")
    .description("admit who was given this code")
    .option("--operator", "as an operator, who may approve others")
    .option("--user", "as a user")
    .action(lazy(async () => (await import("./pair.js")).pairApprove));
  const sessions = program.command("sessions").description("list, search and import conversations; no model is asked").helpCommand(false);
  sessions
    .command("search")
    .argument("<question>", 'a natural question, or words, OR, NOT, "phrases" and prefix*')
    .description("find the conversations that a question is about")
    .option("--space <id>", "only this space")
    .option("--all", "all spaces (the default)")
    .option("--limit <n>", "how many, best first", "5")
    .option("--json", "as JSON: session, score and excerpt")
    .action(lazy(async () => (await import("./sessions.js")).sessionsSearch));
  sessions
    .command("list")
    .description("show the newest conversations")
    .option("--space <id>", "only this space")
    .option("--limit <n>", "how many, newest first", "20")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./sessions.js")).sessionsList));
  sessions
    .command("import")
    .argument("<file>", "JSON lines: session, space, role, author, time, text; - reads standard input")
    .description("load transcripts and index them; a line that is there already is left out")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./sessions.js")).sessionsImport));
  const skills = program.command("skills").description("list and show skills, their history, and take changes back").helpCommand(false);
  skills
    .command("list")
    .description("show the shared skills and those of all spaces")
    .option("--space <id>", 'only this space, or "shared"')
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./skills.js")).skillsList));
  skills
    .command("show")
    .argument("<name>", "the skill's name")
    .description("show a skill's files")
    .option("--space <id>", "of this space (default: shared)")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./skills.js")).skillsShow));
  skills
    .command("log")
    .argument("[name]", "only this skill")
    .description("show what was changed, by whom, and the lines")
    .option("--space <id>", "of this space (default: shared)")
    .option("--limit <n>", "how many, newest first", "20")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./skills.js")).skillsLog));
  skills
    .command("undo")
    .argument("[name]", "only this skill's changes")
    .description("take back the newest change")
    .option("--space <id>", 'of this space, or "shared"')
    .action(lazy(async () => (await import("./skills.js")).skillsUndo));
  program
    .command("backup")
    .argument("<folder>", "a new or empty folder")
    .description("copy database, memory and skills, also while the gateway runs")
    .action(lazy(async () => (await import("./backup.js")).backup));
  program
    .command("restore")
    .argument("<folder>", "a folder that `mneme backup` has written")
    .description("put a backup back; the gateway must not run")
    .option("--force", "put aside what is in the data folder")
    .action(lazy(async () => (await import("./restore.js")).restoreBackup));
  const access = program
    .command("access")
    .description("show and change who may talk to the bot; a running gateway obeys at once")
    .helpCommand(false);
  access
    .command("list")
    .description("show who is admitted, by the settings and at run time, and the last changes")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./access.js")).accessList));
  access
    .command("grant")
    .argument("<account>", "platform:id")
    .description("admit an account")
    .option("--operator", "as an operator, who may approve others")
    .action(lazy(async () => (await import("./access.js")).accessGrant));
  access
    .command("revoke")
    .argument("<account>", "platform:id")
    .description("take an account's admission away")
    .action(lazy(async () => (await import("./access.js")).accessRevoke));
  access
    .command("role")
    .argument("<account>", "platform:id")
    .argument("<role>", "operator or user")
    .description("change the role of an account")
    .action(lazy(async () => (await import("./access.js")).accessRole));
  access
    .command("group")
    .argument("<chat>", "platform:id of a chat")
    .description("admit a group")
    .option("--revoke", "take its admission away")
    .action(lazy(async () => (await import("./access.js")).accessGroup));
  program
    .command("doctor")
    .description("check settings, tokens, model, Redis, disk and database, and name the remedies")
    .option("--json", "as JSON")
    .action(lazy(async () => (await import("./doctor.js")).doctor));
  const memory = program.command("memory").description("export or delete what is held about a person").helpCommand(false);
  memory
    .command("export")
    .description("write everything held about a person, here and at the external memory, into one folder")
    .requiredOption("--person <id>", "person id, or platform:id of an account")
    .requiredOption("--out <dir>", "a new folder")
    .action(lazy(async () => (await import("./memory.js")).memoryExport));
  memory
    .command("forget")
    .description("delete everything held about a person, here and at the external memory")
    .requiredOption("--person <id>", "person id, or platform:id of an account")
    .option("--yes", "do it")
    .action(lazy(async () => (await import("./memory.js")).memoryForget));
  return program;
}

/** From package.json, which lies two folders up from the source and three from the built file. */
function version(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const found = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly name?: string; readonly version?: string };
      if (found.name === "mneme" && found.version !== undefined) return found.version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return "unknown";
}

/** Help and version end well; every other complaint of the parser is a usage error, and it has printed it itself. */
function failed(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  const shown = context ?? createContext({});
  const failure = describeFailure(error, { verbose: shown.options.verbose === true, redactor: shown.redactor() });
  shown.complain(failure.text);
  return failure.exitCode;
}

/** Whoever reads our output may leave early (`| head`): that is no error. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(exitCode);
  throw error;
}

process.stdout.on("error", endQuietly);
try {
  await buildProgram().parseAsync(process.argv);
} catch (error) {
  exitCode = failed(error);
}
// Explicitly, because a client library may have left a timer or a socket; both streams are flushed first.
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));
