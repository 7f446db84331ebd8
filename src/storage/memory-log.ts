/**
 * What happened to the memory files. The database's write transaction is the files' lock: `work` reads and replaces the
 * file inside it, so two processes never write one file at once. `work` may run again when the commit was refused.
 */
import { GatewayError } from "../domain/errors.js";
import type { MemoryEvent, MemoryLog, MemoryOwner, NewMemoryEvent, WriteGuard } from "../ports/memory-log.js";
import type { Database } from "./database.js";
import { idList, optional } from "./json-column.js";
import type { Tx } from "./sql.js";
import { heldTurn } from "./turn-rows.js";

interface StoredEvent {
  readonly id: number;
  readonly target: MemoryOwner["target"];
  readonly owner_id: string;
  readonly action: MemoryEvent["action"];
  readonly had_before: number;
  readonly before_text: string | null;
  readonly had_after: number;
  readonly after_text: string | null;
  readonly file_hash: string;
  readonly origin: MemoryEvent["origin"];
  readonly account_key: string | null;
  readonly person_id: string | null;
  readonly session_id: string | null;
  readonly turn_id: string | null;
  readonly job_id: string | null;
  readonly evidence: string | null;
  readonly at: number;
  readonly undone_by: number | null;
}

const ofOwner = "target = ? and owner_id = ?";

export function createMemoryLog({ db }: { readonly db: Database }): MemoryLog {
  return {
    change(owner, guard, now, work) {
      return db.write((tx) => {
        checkGuard(tx, guard);
        const change = work(newestEvents(tx, owner, 1)[0]);
        for (const event of change.events) insertEvent(tx, event, now);
        change.write?.();
        return change.result;
      });
    },
    events: (owner, limit) => db.read((tx) => newestEvents(tx, owner, limit)),
    byJob: (jobId) =>
      db.read((tx) => tx.all<StoredEvent>("select * from memory_events where job_id = ? order by id", [jobId]).map(eventFromRow)),
    pending(personId) {
      return db.read((tx) =>
        tx
          .all<{ id: number; content: string; evidence: string | null; at: number }>(
            "select id, content, evidence, at from memory_pending where person_id = ? order by id",
            [personId],
          )
          .map(({ evidence, ...row }) => ({ ...row, ...optional("evidence", evidence) })),
      );
    },
    addPending(personId, guard, content, evidence, sessionId, now) {
      return db.write((tx) => {
        checkGuard(tx, guard);
        tx.run(
          `insert into memory_pending (person_id, content, evidence, session_id, at) values (?, ?, ?, ?, ?)
           on conflict (person_id, content) do nothing`,
          [personId, content, evidence ?? null, sessionId, now],
        );
      });
    },
    async dropPending(ids) {
      if (ids.length === 0) return;
      await db.write((tx) => tx.run("delete from memory_pending where id in (select value from json_each(?))", [idList(ids)]));
    },
    purge(owner, text) {
      return db.write((tx) => {
        if (text === "") return;
        for (const column of ["before_text", "after_text", "evidence"]) {
          tx.run(`update memory_events set ${column} = null where ${ofOwner} and instr(${column}, ?) > 0`, [owner.target, owner.id, text]);
        }
        // The words it rested on say the same thing in other words.
        tx.run(
          `update memory_events set evidence = null where ${ofOwner} and evidence is not null
           and ((had_before = 1 and before_text is null) or (had_after = 1 and after_text is null))`,
          [owner.target, owner.id],
        );
      });
    },
  };
}

/** Throws `turn.outdated` when the turn's claim or the job's fence is no longer the newest. */
export function checkGuard(tx: Tx, guard: WriteGuard): void {
  if ("none" in guard) return;
  if ("turnId" in guard) {
    heldTurn(tx, guard.turnId, guard.claim);
    return;
  }
  const job = tx.get<{ fence: number; state: string }>("select fence, state from intents where id = ?", [guard.jobId]);
  if (job?.state === "active" && job.fence === guard.fence) return;
  throw new GatewayError("turn.outdated", `Job ${guard.jobId} with fence ${guard.fence} has been taken over or has ended.`);
}

function newestEvents(tx: Tx, owner: MemoryOwner, limit: number): MemoryEvent[] {
  return tx
    .all<StoredEvent>(`select * from memory_events where ${ofOwner} order by id desc limit ?`, [owner.target, owner.id, limit])
    .map(eventFromRow);
}

function insertEvent(tx: Tx, event: NewMemoryEvent, now: number): void {
  const { id } = tx.run(
    `insert into memory_events (target, owner_id, action, had_before, before_text, had_after, after_text, file_hash, origin, account_key,
       person_id, session_id, turn_id, job_id, evidence, at)
     values (@target, @ownerId, @action, @hadBefore, @before, @hadAfter, @after, @fileHash, @origin, @accountKey, @personId, @sessionId,
       @turnId, @jobId, @evidence, @now)`,
    {
      target: event.owner.target,
      ownerId: event.owner.id,
      action: event.action,
      hadBefore: event.before === undefined ? 0 : 1,
      before: event.before ?? null,
      hadAfter: event.after === undefined ? 0 : 1,
      after: event.after ?? null,
      fileHash: event.fileHash,
      origin: event.origin,
      accountKey: event.accountKey ?? null,
      personId: event.personId ?? null,
      sessionId: event.sessionId ?? null,
      turnId: event.turnId ?? null,
      jobId: event.jobId ?? null,
      evidence: event.evidence ?? null,
      now,
    },
  );
  if (event.undoes !== undefined) tx.run("update memory_events set undone_by = ? where id = ?", [id, event.undoes]);
}

function eventFromRow(row: StoredEvent): MemoryEvent {
  return {
    id: row.id,
    owner: { target: row.target, id: row.owner_id },
    action: row.action,
    fileHash: row.file_hash,
    origin: row.origin,
    at: row.at,
    ...(row.had_before === 1 ? { before: row.before_text } : {}),
    ...(row.had_after === 1 ? { after: row.after_text } : {}),
    ...optional("accountKey", row.account_key),
    ...optional("personId", row.person_id),
    ...optional("sessionId", row.session_id),
    ...optional("turnId", row.turn_id),
    ...optional("jobId", row.job_id),
    ...optional("evidence", row.evidence),
    ...optional("undoneBy", row.undone_by),
  };
}
