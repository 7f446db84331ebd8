/**
 * Transcripts from outside as ended sessions of a space. The same line twice is one message, so an import may be repeated or go on; both
 * search indexes are fed before it ends.
 */
import { createHash } from "node:crypto";
import { GatewayError } from "../domain/errors.js";
import { originOf } from "../domain/identity.js";
import type { Entry } from "../domain/transcript.js";
import type { SearchRole } from "../ports/search.js";
import type { Database } from "./database.js";
import { toJson } from "./json-column.js";
import { tidySearch } from "./search-care.js";
import { feedMessages, feedStretches } from "./search-feed.js";
import type { Tx } from "./sql.js";
import type { IndexedMessage } from "./indexed-message.js";

export interface ImportedMessage {
  readonly session: string;
  readonly space: string;
  readonly role: SearchRole;
  readonly author?: string;
  /** Epoch ms. */
  readonly at: number;
  readonly text: string;
}

export interface ImportSums {
  readonly messages: number;
  /** Lines that were there already. */
  readonly known: number;
  readonly sessions: number;
}

/** Where spaces that only came by import lie; no platform answers to this name. */
const importPlatform = "import";
const messagesAtOnce = 1000;
const sessionsAtOnce = 50;
/** Equal lines are told apart by counting them; this many sessions are counted at a time. */
const countedSessions = 500;

/** Reads the messages once, in order. Rejects with `input.invalid` for a session that belongs to another space. */
export async function importTranscripts(db: Database, messages: AsyncIterable<ImportedMessage>, now: number): Promise<ImportSums> {
  const sessions = new Map<string, ImportSession>();
  const repeats = new Repeats();
  let stored = 0;
  let known = 0;
  let batch: ImportedMessage[] = [];
  const flush = async (): Promise<void> => {
    const part = batch;
    batch = [];
    const ordinals = part.map((message) => repeats.count(message));
    const added = await db.write((tx) => storeBatch(tx, part, ordinals, sessions, now));
    stored += added;
    known += part.length - added;
  };
  for await (const message of messages) {
    batch.push(message);
    if (batch.length >= messagesAtOnce) await flush();
  }
  if (batch.length > 0) await flush();
  const ids = [...sessions.values()].map(({ id }) => id);
  for (let at = 0; at < ids.length; at += sessionsAtOnce) {
    const part = ids.slice(at, at + sessionsAtOnce);
    await db.write((tx) => {
      for (const id of part) feedStretches(tx, id, Number.MAX_SAFE_INTEGER);
    });
  }
  if (stored > 0) await tidySearch(db);
  return { messages: stored, known, sessions: sessions.size };
}

interface ImportSession {
  readonly id: string;
  readonly spaceId: string;
  readonly origin: string;
}

/** How often an equal line of a session came before. */
class Repeats {
  readonly #sessions = new Map<string, Map<string, number>>();

  count(message: ImportedMessage): number {
    const key = JSON.stringify([message.space, message.session]);
    const lines = this.#sessions.get(key) ?? new Map<string, number>();
    this.#sessions.set(key, lines);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > countedSessions && oldest !== undefined) this.#sessions.delete(oldest);
    const line = digest(message, 0).toString(36);
    const count = lines.get(line) ?? 0;
    lines.set(line, count + 1);
    return count;
  }
}

/** 48 bits of what makes a line of a session itself. */
function digest({ role, author, at, text }: ImportedMessage, ordinal: number): number {
  return createHash("sha256")
    .update(JSON.stringify([role, author, at, text, ordinal]))
    .digest()
    .readUIntBE(0, 6);
}

function storeBatch(
  tx: Tx,
  batch: readonly ImportedMessage[],
  ordinals: readonly number[],
  sessions: Map<string, ImportSession>,
  now: number,
): number {
  const indexed: IndexedMessage[] = [];
  batch.forEach((message, index) => {
    const key = JSON.stringify([message.space, message.session]);
    const session = sessions.get(key) ?? sessionFor(tx, message, now);
    sessions.set(key, session);
    const { changes, id } = tx.run(
      `insert into messages (session_id, turn_id, seq, role, entry, author, at) values (?, ?, ?, ?, ?, ?, ?)
       on conflict (turn_id, seq) do nothing`,
      [
        session.id,
        `import-${session.id}`,
        digest(message, ordinals[index] ?? 0),
        message.role,
        toJson(entryOf(message)),
        message.author ?? null,
        message.at,
      ],
    );
    if (changes === 0) return;
    tx.run(
      "update sessions set created_at = min(created_at, ?), last_active_at = max(last_active_at, ?), ended_at = max(ended_at, ?) where id = ?",
      [message.at, message.at, message.at, session.id],
    );
    indexed.push({
      id,
      sessionId: session.id,
      spaceId: session.spaceId,
      origin: session.origin,
      isPrivate: false,
      role: message.role,
      text: message.text,
      at: message.at,
    });
  });
  feedMessages(tx, indexed);
  return indexed.length;
}

function entryOf({ role, text }: ImportedMessage): Entry {
  return role === "tool" ? { role, callId: "import", name: "import", content: text } : { role, content: text };
}

interface StoredPlace {
  readonly space_id: string;
  readonly origin: string;
  readonly key: string;
}

function sessionFor(tx: Tx, message: ImportedMessage, now: number): ImportSession {
  const place = placeFor(tx, message.space, now);
  const known = tx.get<StoredPlace>("select space_id, origin, key from sessions where id = ?", [message.session]);
  // Transcripts of several spaces may count their sessions alike.
  const id = known === undefined || known.space_id === message.space ? message.session : `${message.space}:${message.session}`;
  const own = id === message.session ? known : tx.get<StoredPlace>("select space_id, origin, key from sessions where id = ?", [id]);
  if (own !== undefined && !own.key.startsWith(`${importPlatform}/`)) {
    throw new GatewayError("input.invalid", `The session ${id} was held here and cannot be added to. Give the imported one another name.`);
  }
  if (own !== undefined) return { id, spaceId: message.space, origin: own.origin };
  tx.run(
    `insert into sessions (id, key, space_id, space_kind, person_id, platform, chat_id, chat_kind, origin, route, created_at, last_active_at, ended_at, end_reason)
     values (@id, @key, @spaceId, @kind, @personId, @platform, @chatId, @chatKind, @origin, @route, @at, @at, @at, 'import')`,
    {
      id,
      key: `${importPlatform}/${encodeURIComponent(message.space)}/${encodeURIComponent(message.session)}`,
      spaceId: message.space,
      kind: place.kind,
      personId: place.kind === "person" ? message.space : null,
      platform: place.platform,
      chatId: place.chatId,
      chatKind: place.kind === "person" ? "dm" : "group",
      origin: place.origin,
      route: toJson({ platform: place.platform, chatId: place.chatId }),
      at: message.at,
    },
  );
  return { id, spaceId: message.space, origin: place.origin };
}

interface ImportPlace {
  readonly kind: "person" | "group";
  readonly platform: string;
  readonly chatId: string;
  readonly origin: string;
}

/** The place of a space: a person's first account, a group's chat; a space that is not known becomes a group of its own that nobody is in. */
function placeFor(tx: Tx, spaceId: string, now: number): ImportPlace {
  const space = tx.get<{ kind: "person" | "group"; platform: string | null; chat_id: string | null }>(
    "select kind, platform, chat_id from spaces where id = ?",
    [spaceId],
  );
  if (space?.kind === "person") {
    const account = tx.get<{ platform: string; accountId: string }>(
      "select platform, account_id as accountId from accounts where person_id = ? order by created_at, platform, account_id limit 1",
      [spaceId],
    );
    if (account === undefined) throw new GatewayError("input.invalid", `The space ${spaceId} belongs to a person without an account.`);
    const origin = originOf({ ...account, chat: { id: "", kind: "dm" } });
    return { kind: "person", platform: account.platform, chatId: account.accountId, origin };
  }
  if (space === undefined) {
    tx.run("insert into spaces (id, kind, platform, chat_id, created_at) values (?, 'group', ?, ?, ?)", [
      spaceId,
      importPlatform,
      spaceId,
      now,
    ]);
  }
  const platform = space?.platform ?? importPlatform;
  const chatId = space?.chat_id ?? spaceId;
  return { kind: "group", platform, chatId, origin: originOf({ platform, accountId: "", chat: { id: chatId, kind: "group" } }) };
}
