/**
 * What waits in inbox and outbox and since when, and the gateway's last health report. Every query follows an index, so that a
 * look at it costs the same in a large database; rows of platforms that are switched off are not counted.
 */
import type { Database } from "./database.js";

export interface QueueAge {
  readonly platform: string;
  /** Events that nothing was decided about yet. */
  readonly unread: number;
  readonly oldestUnreadAt: number | undefined;
  /** Parts that were not sent yet; those that are not due are counted too, since a platform that is down only makes them wait. */
  readonly unsent: number;
  readonly oldestUnsentAt: number | undefined;
}

interface Row {
  readonly platform: string;
  readonly n: number;
  readonly at: number;
}

/** One entry per platform given, in that order. */
export function readQueueAges(db: Database, platforms: readonly string[]): Promise<QueueAge[]> {
  return db.read((tx) => {
    const unread = tx.all<Row>(
      "select platform, count(*) as n, min(received_at) as at from inbox where state in ('new', 'waiting') and state = 'new' group by platform",
    );
    const unsent = tx.all<Row>(
      "select platform, count(*) as n, min(created_at) as at from outbox where state in ('waiting', 'sending') group by platform",
    );
    return platforms.map((platform) => {
      const [read, sent] = [unread, unsent].map((rows) => rows.find((row) => row.platform === platform));
      return { platform, unread: read?.n ?? 0, oldestUnreadAt: read?.at, unsent: sent?.n ?? 0, oldestUnsentAt: sent?.at };
    });
  });
}

const place = ["health", "report"] as const;

/** Stores the report: the proof that the database can be written, and what `mneme status` reads. Not synced to disk. */
export async function saveHealth(db: Database, report: string, now: number): Promise<void> {
  await db.write(
    (tx) =>
      tx.run(
        `insert into settings (scope, key, value, updated_at) values (?, ?, ?, ?)
         on conflict (scope, key) do update set value = excluded.value, updated_at = excluded.updated_at`,
        [...place, report, now],
      ),
    { soft: true },
  );
}

export async function loadHealth(db: Database): Promise<{ readonly report: string; readonly at: number } | undefined> {
  return db.read((tx) => tx.get("select value as report, updated_at as at from settings where scope = ? and key = ?", [...place]));
}

/** Jobs that ended well since an instant, by kind; those of other processes too. */
export function readFinishedJobs(db: Database, since: number): Promise<{ readonly id: string; readonly kind: string }[]> {
  return db.read((tx) => tx.all("select id, kind from intents where done_at is not null and done_at >= ? and state = 'done'", [since]));
}
