/**
 * Deletes what the database holds about a person, in one transaction: it is all gone or all there. Admission stays, so that being forgotten locks
 * nobody out; words in groups are replaced, since the answers to them belong to others too.
 */
import type { Database } from "./database.js";
import { idList, toJson } from "./json-column.js";
import { isWorking } from "./people-moves.js";
import { deleteMessages, unfeedMessages, unfeedStretches } from "./search-remove.js";
import { feedStretches } from "./search-feed.js";
import type { Tx } from "./sql.js";

export interface Forgotten {
  /** Persons and spaces that are gone, whose folders go too: the person and those that became part of it. */
  readonly ids: readonly string[];
  /** Images they sent, as paths below the data folder. */
  readonly files: readonly string[];
}

/** Undefined, and nothing done, while a turn or job of the person runs. Doing it again is harmless. */
export function forgetPerson(db: Database, personId: string): Promise<Forgotten | undefined> {
  return db.write((tx) => {
    const accounts = tx.all<Account>("select platform, account_id as accountId from accounts where person_id = ?", [personId]);
    const ids = [personId, ...earlierPeople(tx, accounts, personId)];
    if (isWorking(tx, ids)) return undefined;
    const sessions = tx.all<{ id: string }>(
      "select id from sessions where space_kind = 'person' and space_id in (select value from json_each(?))",
      [idList(ids)],
    );
    const files = [
      ...sessions.flatMap(({ id }) => imagesOf(tx, "session_id = ?", [id])),
      ...accounts.flatMap((account) => imagesSaid(tx, account)),
    ];
    for (const { id } of sessions) forgetSession(tx, id);
    for (const account of accounts) forgetAccount(tx, account);
    for (const id of ids) forgetOwner(tx, id);
    return { ids, files: [...new Set(files)] };
  });
}

interface Account {
  readonly platform: string;
  readonly accountId: string;
}

/** People that these accounts were before they were linked, where nobody else is one of them now. */
function earlierPeople(tx: Tx, accounts: readonly Account[], personId: string): string[] {
  const found = accounts.flatMap(({ platform, accountId }) =>
    tx.all<{ id: string }>(
      `select person_id as id from link_origins o where platform = ? and account_id = ?
         and not exists (select 1 from accounts a where a.person_id = o.person_id)`,
      [platform, accountId],
    ),
  );
  return [...new Set(found.map(({ id }) => id))].filter((id) => id !== personId);
}

function imagesOf(tx: Tx, where: string, params: readonly string[]): string[] {
  return tx
    .all<{ file: string }>(
      `select json_extract(image.value, '$.file') as file from messages m, json_each(m.entry, '$.images') image where ${where}`,
      params,
    )
    .map(({ file }) => file);
}

function imagesSaid(tx: Tx, { platform, accountId }: Account): string[] {
  return imagesOf(tx, "m.account_id = ? and m.session_id in (select id from sessions where platform = ?)", [accountId, platform]);
}

function forgetSession(tx: Tx, sessionId: string): void {
  const messages = tx.all<{ id: number }>("select id from messages where session_id = ?", [sessionId]);
  deleteMessages(
    tx,
    sessionId,
    messages.map(({ id }) => id),
  );
  unfeedStretches(tx, sessionId, 0);
  const turns = "select id from turns where session_id = ?";
  tx.run(`delete from journal_calls where turn_id in (${turns})`, [sessionId]);
  tx.run(`delete from journal_entries where turn_id in (${turns})`, [sessionId]);
  emptyOutbox(tx, "session_id = ?", [sessionId]);
  tx.run("delete from intents where session_id = ? and kind not like 'provider-%'", [sessionId]);
  tx.run("delete from watermarks where session_id = ?", [sessionId]);
  tx.run("delete from handovers where session_id = ?", [sessionId]);
  tx.run("delete from prepared_handovers where session_id = ?", [sessionId]);
  tx.run("delete from turns where session_id = ?", [sessionId]);
  tx.run("delete from sessions where id = ?", [sessionId]);
}

const removed = "[removed at the person's own request]";

function forgetAccount(tx: Tx, { platform, accountId }: Account): void {
  const said = tx.all<{ id: number; sessionId: string }>(
    `select m.id, m.session_id as sessionId from messages m join sessions s on s.id = m.session_id
     where s.platform = ? and m.account_id = ? and m.role = 'user'`,
    [platform, accountId],
  );
  unfeedMessages(
    tx,
    said.map(({ id }) => id),
  );
  tx.run("update messages set entry = ?, said = '', author = null where id in (select value from json_each(?))", [
    toJson({ role: "user", content: removed }),
    idList(said.map(({ id }) => id)),
  ]);
  for (const sessionId of new Set(said.map((row) => row.sessionId))) {
    unfeedStretches(tx, sessionId, 0);
    feedStretches(tx, sessionId, Number.MAX_SAFE_INTEGER);
  }
  const bySpeaker = "json_extract(speaker, '$.platform') = ? and json_extract(speaker, '$.accountId') = ?";
  tx.run(
    `update turns set said = '', user_entry = ?, speaker = json_remove(json_set(speaker, '$.displayName', ''), '$.handle') where ${bySpeaker}`,
    [toJson({ role: "user", content: removed }), platform, accountId],
  );
  tx.run(
    `update inbox set bare = 1, event = json_remove(json_set(event, '$.text', '', '$.attachments', json('[]'), '$.account.displayName', ''), '$.replyTo',
       '$.forwardedFrom', '$.account.handle', '$.command.args', '$.data')
     where platform = ? and json_extract(event, '$.account.id') = ? and state = 'done'`,
    [platform, accountId],
  );
  // Their direct messages: notices and answers that are kept for /again.
  emptyOutbox(
    tx,
    `platform = ? and chat_id in (select chat_id from inbox where platform = ? and json_extract(event, '$.account.id') = ?
       and json_extract(event, '$.chat.kind') = 'dm')`,
    [platform, platform, accountId],
  );
  tx.run("delete from codes where subject = 'account' and platform = ? and subject_id = ?", [platform, accountId]);
  tx.run("delete from link_codes where platform = ? and account_id = ?", [platform, accountId]);
  tx.run("update accounts set display_name = account_id, handle = null where platform = ? and account_id = ?", [platform, accountId]);
  tx.run("update memory_events set evidence = null where account_key = ?", [`${platform}:${accountId}`]);
}

/** Rows on their way are left: the word that all is deleted is one of them. */
function emptyOutbox(tx: Tx, where: string, params: readonly string[]): void {
  tx.run(`delete from outbox where state not in ('waiting', 'sending') and ${where}`, params);
}

function forgetOwner(tx: Tx, id: string): void {
  tx.run("delete from memory_events where owner_id = ?", [id]);
  tx.run("delete from memory_pending where person_id = ?", [id]);
  tx.run("delete from counters where space_id = ?", [id]);
  tx.run("delete from intents where space_id = ? and kind not like 'provider-%'", [id]);
  tx.run("delete from settings where scope in ('person:' || ?, 'profile:' || ?)", [id, id]);
}
