/**
 * Sums over inbox, outbox and turns for the operator. Reads only; the oldest times say more about health than the counts do.
 */
import type { Disposition, OutboxState } from "../ports/mailbox.js";
import type { Database } from "./database.js";

export interface PlatformOverview {
  readonly platform: string;
  /** Epoch ms of the newest event that came in, and of the newest confirmed send; undefined where there is none. */
  readonly lastEventAt: number | undefined;
  readonly lastSentAt: number | undefined;
  /** Events without a disposition. */
  readonly open: number;
  readonly oldestOpenAt: number | undefined;
  readonly outbox: Readonly<Partial<Record<OutboxState, number>>>;
  readonly oldestWaitingAt: number | undefined;
  /** What became of the events of the last 24 hours. */
  readonly lastDay: Readonly<Partial<Record<Disposition, number>>>;
}

export interface Overview {
  readonly schema: number;
  readonly platforms: readonly PlatformOverview[];
  readonly openTurns: number;
  readonly oldestTurnAt: number | undefined;
  readonly activeSessions: number;
}

const dayMs = 86_400_000;

/** One consistent look at the whole database. `now`: epoch ms. */
export async function readOverview(db: Database, now: number): Promise<Overview> {
  const schema = await db.schemaVersion();
  return db.read((tx) => {
    const events = tx.all<{ platform: string; at: number }>("select platform, max(received_at) as at from inbox group by platform");
    const open = tx.all<{ platform: string; count: number; at: number }>(
      "select platform, count(*) as count, min(received_at) as at from inbox where state <> 'done' group by platform",
    );
    const day = tx.all<{ platform: string; disposition: Disposition; count: number }>(
      `select platform, disposition, count(*) as count from inbox where received_at >= ? and disposition is not null
       group by platform, disposition`,
      [now - dayMs],
    );
    const outbox = tx.all<{ platform: string; state: OutboxState; count: number; at: number; sentAt: number | null }>(
      "select platform, state, count(*) as count, min(created_at) as at, max(sent_at) as sentAt from outbox group by platform, state",
    );
    const turns = tx.get<{ count: number; at: number | null }>(
      "select count(*) as count, min(started_at) as at from turns where state = 'running'",
    );
    const sessions = tx.get<{ count: number }>("select count(*) as count from sessions where ended_at is null");
    const names = [...new Set([...events, ...outbox].map(({ platform }) => platform))].sort();
    return {
      schema,
      platforms: names.map((platform) => {
        const mine = <Row extends { readonly platform: string }>(rows: readonly Row[]): Row[] =>
          rows.filter((row) => row.platform === platform);
        const rows = mine(outbox);
        return {
          platform,
          lastEventAt: mine(events)[0]?.at,
          lastSentAt: rows.find(({ state }) => state === "sent")?.sentAt ?? undefined,
          open: mine(open)[0]?.count ?? 0,
          oldestOpenAt: mine(open)[0]?.at,
          outbox: Object.fromEntries(rows.map(({ state, count }) => [state, count])),
          oldestWaitingAt: rows.find(({ state }) => state === "waiting")?.at,
          lastDay: Object.fromEntries(mine(day).map(({ disposition, count }) => [disposition, count])),
        };
      }),
      openTurns: turns?.count ?? 0,
      oldestTurnAt: turns?.at ?? undefined,
      activeSessions: sessions?.count ?? 0,
    };
  });
}

/** What SQLite finds wrong with the file; empty when nothing. Reads the whole file. */
export function quickCheck(db: Database): Promise<string[]> {
  return db.read((tx) =>
    tx.all<{ quick_check: string }>("pragma quick_check(20)").flatMap(({ quick_check: found }) => (found === "ok" ? [] : [found])),
  );
}
