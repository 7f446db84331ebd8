/** What `mneme status` shows, read from the stores alone, so that it is the same for a running and a stopped gateway. */
import type { Account } from "../domain/identity.js";
import type { JobLedger } from "../ports/job-queue.js";
import { quickCheck, readOverview, type Overview } from "../storage/overview.js";
import { loadHealth } from "../storage/queue-ages.js";
import type { HealthReport } from "./health.js";
import { createProviderStore } from "../storage/provider-store.js";
import type { Offline } from "./offline.js";
import { providerStatus } from "./provider.js";

export interface Status extends Overview {
  readonly jobs: Awaited<ReturnType<JobLedger["counts"]>>;
  /** Whoever does jobs and was heard of in the last half minute: workers, or the gateway itself. */
  readonly workers: Awaited<ReturnType<JobLedger["workers"]>>;
  /** The last report of a gateway; old when none runs. */
  readonly health: HealthReport | undefined;
  readonly people: { readonly admitted: number; readonly operators: readonly Pick<Account, "platform" | "accountId" | "displayName">[] };
  /** One line about the external memory, where one is chosen. */
  readonly external: string | undefined;
  /** Pairing codes that wait for approval. */
  readonly codes: number;
}

const workerAliveMs = 30_000;

/** Nothing is stored here. */
const noIds = { next: () => "" };

export async function readStatus({ db, stores, jobs, pairing }: Offline, provider: string, now: number): Promise<Status> {
  const [overview, counts, workers, health, accounts, codes] = await Promise.all([
    readOverview(db, now),
    jobs.counts(),
    jobs.workers(now - workerAliveMs),
    loadHealth(db),
    stores.access.accounts(),
    pairing.pending(),
  ]);
  return {
    ...overview,
    jobs: counts,
    workers,
    health: health === undefined ? undefined : (JSON.parse(health.report) as HealthReport),
    people: {
      admitted: accounts.filter(({ admittedAt }) => admittedAt !== undefined).length,
      operators: accounts
        .filter(({ role }) => role === "operator")
        .map(({ platform, accountId, displayName }) => ({ platform, accountId, displayName })),
    },
    external: provider === "none" ? undefined : await providerStatus(createProviderStore({ db, ids: noIds }), provider, now),
    codes: codes.length,
  };
}

/** What SQLite finds wrong with the file; empty when nothing. */
export function quickCheckOf(db: Offline["db"]): Promise<string[]> {
  return quickCheck(db);
}
