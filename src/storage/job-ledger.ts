/**
 * The job ledger on the intents table: lease, fence, watermarks. An effect that lives in this database is written with `heldJob` and
 * `closeJob` inside its own transaction: then it happens exactly once, however often the job runs.
 */
import { GatewayError } from "../domain/errors.js";
import { jobKinds, type JobKind } from "../domain/job.js";
import type { ClaimedJob, JobLedger, JobRow, NotClaimed, Watermark } from "../ports/job-queue.js";
import type { Database } from "./database.js";
import { fromJson, optional } from "./json-column.js";
import { bodiesKeptMs, pruneBatch, rowsKeptMs } from "./retention.js";
import type { Tx } from "./sql.js";

interface StoredJob {
  readonly id: string;
  readonly kind: string;
  readonly space_id: string;
  readonly session_id: string;
  readonly payload: string;
  readonly state: JobRow["state"];
  readonly run_at: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly lease_until: number | null;
  readonly fence: number;
  readonly error: string | null;
  readonly created_at: number;
  readonly done_at: number | null;
}

/** Kinds of which only one job runs in a whole space; the others are exclusive in their session. */
const spaceWide: ReadonlySet<string> = new Set<JobKind>(["review"]);
const spaceWideList = JSON.stringify([...spaceWide]);
/** How long to wait for a scope that another job holds, ms. */
const busyMs = 500;
const beatsKeptMs = 86_400_000;
/** Longest error text kept, in characters. */
const errorLength = 2000;

/** Another job of the same kind runs in the scope of row `i`. Few rows are active, so the look-up goes over those. */
const scopeIsHeld = `exists (select 1 from intents a where a.state = 'active' and a.lease_until > @now and a.id <> i.id and a.kind = i.kind
  and (a.session_id = i.session_id or (a.space_id = i.space_id and i.kind in (select value from json_each('${spaceWideList}')))))`;

/** Names the holder of a job: its id and the fence it was claimed with. */
export interface JobHold {
  readonly id: string;
  readonly fence: number;
}

/** Throws `turn.outdated` unless this holder may still write. */
export function heldJob(tx: Tx, { id, fence }: JobHold): void {
  const row = tx.get<{ state: string; fence: number }>("select state, fence from intents where id = ?", [id]);
  if (row?.state === "active" && row.fence === fence) return;
  const now = row === undefined ? "removed" : `${row.state} with fence ${row.fence}`;
  throw new GatewayError("turn.outdated", `Job ${id} is ${now}; the caller holds ${fence}.`);
}

/** Closes the job and moves its watermarks inside the transaction of its effect. Throws `turn.outdated` for an old fence. */
export function closeJob(tx: Tx, hold: JobHold, watermarks: readonly Watermark[], now: number): void {
  heldJob(tx, hold);
  moveWatermarks(tx, watermarks);
  tx.run("update intents set state = 'done', done_at = ?, error = null, lease_until = null, lease_by = null where id = ?", [now, hold.id]);
}

/** The last message that a kind of work has covered in a session; 0 when nothing was. */
export function watermarkOf(tx: Tx, kind: Watermark["kind"], sessionId: string): number {
  return tx.get<{ up_to: number }>("select up_to from watermarks where kind = ? and session_id = ?", [kind, sessionId])?.up_to ?? 0;
}

export function createJobLedger({ db }: { readonly db: Database }): JobLedger {
  return {
    due: (now, limit) => db.read((tx) => dueRows(tx, now, limit)),
    nextDue() {
      return db.read((tx) => {
        const open = tx.get<{ at: number | null }>("select min(run_at) as at from intents where state = 'open'")?.at;
        const leased = tx.get<{ at: number | null }>("select min(lease_until) as at from intents where state = 'active'")?.at;
        return open === null || open === undefined ? (leased ?? undefined) : Math.min(open, leased ?? open);
      });
    },
    async claim(id, worker, leaseMs, now) {
      // Looks before it writes: an update that matches nothing would still take the write lock.
      const refused = await db.read((tx) => refusal(tx, id, now));
      if (refused !== undefined && failsBy(refused) === undefined) return refused;
      return db.write((tx) => claimRow(tx, id, worker, leaseMs, now), { soft: true });
    },
    async heartbeat(id, fence, leaseMs, now) {
      const sql = "update intents set lease_until = ? where id = ? and fence = ? and state = 'active'";
      return (await db.write((tx) => tx.run(sql, [now + leaseMs, id, fence]).changes, { soft: true })) === 1;
    },
    finish(id, fence, watermarks, now) {
      return db.write((tx) => {
        const done = tx.get("select 1 from intents where id = ? and fence = ? and state = 'done'", [id, fence]);
        if (done === undefined) closeJob(tx, { id, fence }, watermarks, now);
        else moveWatermarks(tx, watermarks);
      });
    },
    release(id, fence, { runAt, error, counts }) {
      return db.write((tx) => {
        heldJob(tx, { id, fence });
        tx.run(
          `update intents set state = ?, run_at = coalesce(?, run_at), attempts = max(attempts - ?, 0), error = ?, lease_until = null, lease_by = null
           where id = ?`,
          [runAt === undefined ? "failed" : "open", runAt ?? null, counts ? 0 : 1, error.slice(0, errorLength), id],
        );
      });
    },
    watermark: (kind, sessionId) => db.read((tx) => watermarkOf(tx, kind, sessionId)),
    byId: (id) => db.read((tx) => rows(tx.all<StoredJob>("select * from intents where id = ?", [id]))[0]),
    list({ state, limit }) {
      return db.read((tx) =>
        rows(
          state === undefined
            ? tx.all<StoredJob>("select * from intents order by created_at desc, id desc limit ?", [limit])
            : tx.all<StoredJob>("select * from intents where state = ? order by created_at desc, id desc limit ?", [state, limit]),
        ),
      );
    },
    retry(id, now) {
      return db.write((tx) => {
        const sql = "update intents set state = 'open', run_at = ?, attempts = 0, error = null where id = ? and state = 'failed'";
        return tx.run(sql, [now, id]).changes === 1;
      });
    },
    remove(id, now) {
      return db.write((tx) => {
        const sql = "delete from intents where id = ? and not (state = 'active' and lease_until > ?)";
        return tx.run(sql, [id, now]).changes === 1;
      });
    },
    counts() {
      return db.read((tx) => {
        const count = (state: JobRow["state"]): number => tx.get<{ n: number }>(countSql[state] ?? "", [])?.n ?? 0;
        const oldest = tx.get<{ at: number | null }>("select min(created_at) as at from intents where state = 'open'")?.at;
        return { open: count("open"), active: count("active"), failed: count("failed"), oldestOpenAt: oldest ?? undefined };
      });
    },
    async prune(now) {
      await db.write((tx) => tx.run("delete from job_workers where at < ?", [now - beatsKeptMs]), { soft: true });
      return pruneBatch(db, (tx, limit) => pruneRows(tx, limit, now));
    },
    async workerBeat(worker, now) {
      const sql = "insert into job_workers (worker, at) values (?, ?) on conflict (worker) do update set at = excluded.at";
      await db.write((tx) => tx.run(sql, [worker, now]), { soft: true });
    },
    workers: (since) => db.read((tx) => tx.all("select worker, at from job_workers where at >= ? order by at desc, worker", [since])),
  };
}

const countSql: { readonly [state in JobRow["state"]]?: string } = {
  open: "select count(*) as n from intents where state = 'open'",
  active: "select count(*) as n from intents where state = 'active'",
  failed: "select count(*) as n from intents where state = 'failed'",
};

function dueRows(tx: Tx, now: number, limit: number): JobRow[] {
  const open = tx.all<StoredJob>(
    `select i.* from intents i where i.state = 'open' and i.run_at <= @now and not ${scopeIsHeld} order by i.run_at, i.created_at limit @limit`,
    { now, limit },
  );
  const lost = tx.all<StoredJob>("select * from intents where state = 'active' and lease_until <= ? order by lease_until limit ?", [
    now,
    limit,
  ]);
  return rows([...open, ...lost].sort((a, b) => a.run_at - b.run_at || a.created_at - b.created_at).slice(0, limit));
}

/** Why the job cannot be claimed; undefined when it can. With `failed` the row is still to be marked. */
function refusal(tx: Tx, id: string, now: number): NotClaimed | undefined {
  const row = tx.get<StoredJob & { held: number }>(`select i.*, ${scopeIsHeld} as held from intents i where i.id = @id`, { id, now });
  if (row === undefined || row.state === "done" || row.state === "failed") return "over";
  const leased = row.state === "active" && (row.lease_until ?? 0) > now;
  if (leased || row.held === 1) return { notBefore: now + busyMs };
  if (row.state === "open" && row.run_at > now) return { notBefore: row.run_at };
  if (row.attempts >= row.max_attempts)
    return { failed: row.error ?? `Its worker ended during attempt ${row.attempts} of ${row.max_attempts}.` };
  return invalidPayload(row);
}

function failsBy(refused: NotClaimed): string | undefined {
  return typeof refused !== "string" && "failed" in refused ? refused.failed : undefined;
}

function invalidPayload(row: StoredJob): NotClaimed | undefined {
  if (!Object.hasOwn(jobKinds, row.kind)) return { failed: `This program does not know jobs of the kind "${row.kind}".` };
  const parsed = jobKinds[row.kind as JobKind].payload.safeParse(fromJson<unknown>(row.payload));
  if (parsed.success) return undefined;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  return { failed: `The payload is not one that this program knows (${problems.join("; ")}).` };
}

function claimRow(tx: Tx, id: string, worker: string, leaseMs: number, now: number): ClaimedJob | NotClaimed {
  const refused = refusal(tx, id, now);
  if (refused !== undefined) {
    const failed = failsBy(refused);
    if (failed !== undefined)
      tx.run("update intents set state = 'failed', error = ?, lease_until = null, lease_by = null where id = ?", [failed, id]);
    return refused;
  }
  const row = tx.get<StoredJob>(
    `update intents set state = 'active', attempts = attempts + 1, fence = fence + 1, lease_until = ?, lease_by = ? where id = ? returning *`,
    [now + leaseMs, worker, id],
  );
  if (row === undefined) return "over";
  return {
    id: row.id,
    kind: row.kind as JobKind,
    spaceId: row.space_id,
    sessionId: row.session_id,
    payload: fromJson(row.payload),
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    fence: row.fence,
  };
}

function moveWatermarks(tx: Tx, watermarks: readonly Watermark[]): void {
  for (const { kind, sessionId, upTo } of watermarks) {
    tx.run(
      `insert into watermarks (kind, session_id, up_to) values (?, ?, ?)
       on conflict (kind, session_id) do update set up_to = max(up_to, excluded.up_to)`,
      [kind, sessionId, upTo],
    );
  }
}

function pruneRows(tx: Tx, limit: number, now: number): number {
  const done = tx.run("delete from intents where id in (select id from intents where done_at is not null and done_at < ? limit ?)", [
    now - bodiesKeptMs,
    limit,
  ]).changes;
  if (done >= limit) return done;
  const failed = tx.run("delete from intents where id in (select id from intents where state = 'failed' and created_at < ? limit ?)", [
    now - rowsKeptMs,
    limit - done,
  ]).changes;
  return done + failed;
}

function rows(stored: readonly StoredJob[]): JobRow[] {
  return stored.map((row) => ({
    id: row.id,
    kind: row.kind as JobKind,
    spaceId: row.space_id,
    sessionId: row.session_id,
    payload: fromJson<unknown>(row.payload),
    state: row.state,
    runAt: row.run_at,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    fence: row.fence,
    createdAt: row.created_at,
    ...optional("error", row.error),
    ...optional("doneAt", row.done_at),
  }));
}
