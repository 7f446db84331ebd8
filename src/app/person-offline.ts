/**
 * Everything that is held about one person, for the command line: exported into a folder, or deleted, here and at the external
 * memory. Works beside a running or stopped gateway; what the external memory cannot do now stays a job of the gateway.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError, errorText } from "../domain/errors.js";
import { removeFolders, removeImages } from "../memory/forget-files.js";
import { MemoryFiles } from "../memory/memory-files.js";
import { createSkillLog } from "../storage/skill-log.js";
import { forgetPerson } from "../storage/forgetting.js";
import type { Offline, OfflineDeps } from "./offline.js";
import { buildProvider, type ExternalMemory } from "./provider.js";

export interface Exported {
  readonly personId: string;
  /** Names of what was written, below the folder. */
  readonly written: readonly string[];
  /** Why the external memory's part is missing. */
  readonly missing?: string;
}

const everySession = 100_000;
const everyEvent = 100_000;

/** `who`: a person id, or `platform:id` of one of their accounts. Rejects with `input.invalid` for an unknown one. */
export async function personIdOf({ stores }: Offline, who: string): Promise<string> {
  const colon = who.indexOf(":");
  const account = colon < 0 ? undefined : await stores.access.account(who.slice(0, colon), who.slice(colon + 1));
  const personId = account?.personId ?? who;
  if ((await stores.access.accounts({ personId })).length > 0) return personId;
  throw new GatewayError(
    "input.invalid",
    `There is no person "${who}". Give a person's id, or an account as platform:id; \`mneme inbox\` shows accounts.`,
  );
}

/** Writes one folder. It must be new or empty, so that nothing of somebody else is mixed in. */
export async function exportPerson(deps: OfflineDeps, offline: Offline, personId: string, out: string): Promise<Exported> {
  if (existsSync(out) && readdirSync(out).length > 0) throw new GatewayError("input.invalid", `${out} is not empty; give a new folder.`);
  mkdirSync(out, { recursive: true, mode: 0o700 });
  const { stores } = offline;
  const files = memoryFiles(deps, offline);
  const written: string[] = [];
  const write = (name: string, value: unknown): void => {
    writeFileSync(join(out, name), `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    written.push(name);
  };
  const sessions = await stores.sessions.list(personId, everySession);
  write("accounts.json", await stores.access.accounts({ personId }));
  write("memory-log.json", {
    user: await files.events({ target: "user", id: personId }, everyEvent),
    memory: await files.events({ target: "memory", id: personId }, everyEvent),
    noted: await stores.memoryLog.pending(personId),
  });
  write(
    "conversations.json",
    await Promise.all(
      sessions.map(async ({ frozen: _frozen, ...rest }) => ({ ...rest, messages: await stores.sessions.entries(rest.id) })),
    ),
  );
  write("said-in-groups.json", await saidInGroups(offline, personId));
  for (const [name, folder] of [
    ["person", join("people", personId)],
    ["space", join("spaces", personId)],
  ] as const) {
    const source = join(deps.config.data.dir, folder);
    if (!existsSync(source)) continue;
    cpSync(source, join(out, name), { recursive: true });
    written.push(`${name}/`);
  }
  const external = externalOf(deps, offline, files);
  if (external.people === undefined) return { personId, written };
  try {
    write("external-memory.json", await external.people.exportPerson(personId));
    return { personId, written };
  } catch (error) {
    return { personId, written, missing: errorText(error) };
  } finally {
    await external.close();
  }
}

/** `busy`: a turn or job of the person runs, nothing was deleted here. `kept`: deleted here; the gateway repeats it at the external memory. */
export async function forgetPersonOffline(deps: OfflineDeps, offline: Offline, personId: string): Promise<"done" | "busy" | "kept"> {
  const files = memoryFiles(deps, offline);
  const external = externalOf(deps, offline, files);
  try {
    const there = (await external.people?.forgetPersonNow(personId)) ?? true;
    const forgotten = await forgetPerson(offline.db, personId);
    if (forgotten === undefined) return "busy";
    removeFolders(files, forgotten.ids);
    removeImages(deps.config.data.dir, forgotten.files);
    const log = createSkillLog({ db: offline.db });
    for (const id of forgotten.ids) await log.forgetSpace(id);
    return there ? "done" : "kept";
  } finally {
    await external.close();
  }
}

async function saidInGroups({ db }: Offline, personId: string): Promise<unknown> {
  return db.read((tx) =>
    tx.all(
      `select s.platform, s.chat_id as chat, s.id as session, m.at, m.text from messages m join sessions s on s.id = m.session_id
       join accounts a on a.platform = s.platform and a.account_id = m.account_id
       where a.person_id = ? and s.space_kind = 'group' and m.role = 'user' order by m.id`,
      [personId],
    ),
  );
}

function memoryFiles({ config, clock }: OfflineDeps, { stores }: Offline): MemoryFiles {
  const limits = { user: config.memory.userCharLimit, memory: config.memory.memoryCharLimit };
  return new MemoryFiles({ dataDir: config.data.dir, log: stores.memoryLog, clock, limits });
}

function externalOf(deps: OfflineDeps, { db, stores, jobs }: Offline, files: MemoryFiles): ExternalMemory {
  return buildProvider({
    ...deps,
    db,
    stores,
    ledger: jobs,
    render: () => [],
    operators: [],
    entries: (owner) => files.entries(owner),
    wake: () => undefined,
  });
}
