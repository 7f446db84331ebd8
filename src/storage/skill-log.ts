/**
 * The skill log on SQLite. The bytes of every changed file are kept per event, so that undo and the noticing of changes
 * made by hand need no copy on disk; a file above the folder's limit has its hash alone.
 */
import type { KnownFile, NewSkillEvent, SkillEvent, SkillFileChange, SkillLog, SkillOwner, SkillUse } from "../ports/skill-log.js";
import type { Database } from "./database.js";
import { optional } from "./json-column.js";
import { checkGuard } from "./memory-log.js";
import type { Tx } from "./sql.js";

interface StoredEvent {
  readonly id: number;
  readonly scope: SkillOwner["scope"];
  readonly owner_id: string;
  readonly skill: string;
  readonly action: SkillEvent["action"];
  readonly note: string | null;
  readonly origin: SkillEvent["origin"];
  readonly account_key: string | null;
  readonly person_id: string | null;
  readonly session_id: string | null;
  readonly turn_id: string | null;
  readonly job_id: string | null;
  readonly at: number;
  readonly undone_by: number | null;
}

interface StoredFile {
  readonly path: string;
  readonly before_hash: string | null;
  readonly before_bytes?: Uint8Array | null;
  readonly after_hash: string | null;
  readonly after_bytes?: Uint8Array | null;
}

export function createSkillLog({ db }: { readonly db: Database }): SkillLog {
  return {
    change(owner, skill, guard, now, work) {
      return db.write((tx) => {
        checkGuard(tx, guard);
        const change = work(knownFiles(tx, owner, skill, true));
        for (const event of change.events) insertEvent(tx, event, now);
        change.write?.();
        return change.result;
      });
    },
    events: (owner, limit, skill) =>
      db.read((tx) =>
        tx
          .all<StoredEvent>(
            `select * from skill_events where scope = @scope and owner_id = @id and (@skill is null or skill = @skill) order by id desc limit @limit`,
            { scope: owner.scope, id: owner.id, skill: skill ?? null, limit },
          )
          .map((row) => eventFromRow(tx, row, false)),
      ),
    byJob: (jobId) =>
      db.read((tx) =>
        tx.all<StoredEvent>("select * from skill_events where job_id = ? order by id", [jobId]).map((row) => eventFromRow(tx, row, false)),
      ),
    event: (id) =>
      db.read((tx) => {
        const row = tx.get<StoredEvent>("select * from skill_events where id = ?", [id]);
        return row === undefined ? undefined : eventFromRow(tx, row, true);
      }),
    names: (owner) =>
      db.read((tx) => {
        const rows = tx.all<{ skill: string }>(
          "select distinct skill from skill_events where scope = ? and owner_id = ? and action <> 'overlap' order by skill",
          [owner.scope, owner.id],
        );
        return rows.map(({ skill }) => skill).filter((skill) => knownFiles(tx, owner, skill, false).size > 0);
      }),
    known: (owner, skill) => db.read((tx) => knownFiles(tx, owner, skill, false)),
    async viewed(spaceId, skill, now) {
      await db.write(
        (tx) =>
          tx.run(
            `insert into skill_uses (space_id, skill, views, last_at) values (?, ?, 1, ?)
             on conflict (space_id, skill) do update set views = views + 1, last_at = max(last_at, excluded.last_at)`,
            [spaceId, skill, now],
          ),
        { soft: true },
      );
    },
    uses: (spaceId) =>
      db.read((tx) =>
        tx.all<SkillUse>("select skill, views, last_at as lastAt from skill_uses where space_id = ? order by last_at desc", [spaceId]),
      ),
    forgetSpace: (spaceId) =>
      db.write((tx) => {
        tx.run("delete from skill_event_files where event_id in (select id from skill_events where scope = 'space' and owner_id = ?)", [
          spaceId,
        ]);
        tx.run("delete from skill_events where scope = 'space' and owner_id = ?", [spaceId]);
        tx.run("delete from skill_uses where space_id = ?", [spaceId]);
      }),
  };
}

/** Each file of the skill as the newest event that touched it left it. */
function knownFiles(tx: Tx, owner: SkillOwner, skill: string, withBytes: boolean): Map<string, KnownFile> {
  const rows = tx.all<{ path: string; hash: string | null; bytes?: Uint8Array | null; newest: number }>(
    `select f.path, f.after_hash as hash, ${withBytes ? "f.after_bytes as bytes, " : ""}max(e.id) as newest
     from skill_events e join skill_event_files f on f.event_id = e.id
     where e.scope = ? and e.owner_id = ? and e.skill = ? group by f.path`,
    [owner.scope, owner.id, skill],
  );
  return new Map(rows.flatMap(({ path, hash, bytes }) => (hash === null ? [] : [[path, { hash, ...optional("bytes", bytes) }]])));
}

function insertEvent(tx: Tx, event: NewSkillEvent, now: number): void {
  const { id } = tx.run(
    `insert into skill_events (scope, owner_id, skill, action, note, origin, account_key, person_id, session_id, turn_id, job_id, at)
     values (@scope, @ownerId, @skill, @action, @note, @origin, @accountKey, @personId, @sessionId, @turnId, @jobId, @now)`,
    {
      scope: event.owner.scope,
      ownerId: event.owner.id,
      skill: event.skill,
      action: event.action,
      note: event.note ?? null,
      origin: event.origin,
      accountKey: event.accountKey ?? null,
      personId: event.personId ?? null,
      sessionId: event.sessionId ?? null,
      turnId: event.turnId ?? null,
      jobId: event.jobId ?? null,
      now,
    },
  );
  for (const file of event.files) {
    tx.run("insert into skill_event_files (event_id, path, before_hash, before_bytes, after_hash, after_bytes) values (?, ?, ?, ?, ?, ?)", [
      id,
      file.path,
      file.beforeHash ?? null,
      file.before ?? null,
      file.afterHash ?? null,
      file.after ?? null,
    ]);
  }
  if (event.undoes !== undefined) tx.run("update skill_events set undone_by = ? where id = ?", [id, event.undoes]);
}

function eventFromRow(tx: Tx, row: StoredEvent, withBytes: boolean): SkillEvent {
  const columns = withBytes ? "path, before_hash, before_bytes, after_hash, after_bytes" : "path, before_hash, after_hash";
  return {
    id: row.id,
    owner: { scope: row.scope, id: row.owner_id },
    skill: row.skill,
    action: row.action,
    files: tx
      .all<StoredFile>(`select ${columns} from skill_event_files where event_id = ? order by path`, [row.id])
      .map((file): SkillFileChange => ({
        path: file.path,
        ...optional("beforeHash", file.before_hash),
        ...optional("before", file.before_bytes),
        ...optional("afterHash", file.after_hash),
        ...optional("after", file.after_bytes),
      })),
    origin: row.origin,
    at: row.at,
    ...optional("note", row.note),
    ...optional("accountKey", row.account_key),
    ...optional("personId", row.person_id),
    ...optional("sessionId", row.session_id),
    ...optional("turnId", row.turn_id),
    ...optional("jobId", row.job_id),
    ...optional("undoneBy", row.undone_by),
  };
}
