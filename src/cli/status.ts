/** `mneme status`: what the database says of a running or stopped gateway, with the age of whatever waits. */
import { accountKey } from "../domain/identity.js";
import { gatewayRuns } from "../app/offline.js";
import { systemClock } from "../app/runtime.js";
import { readStatus, type Status } from "../app/status.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { ago, clean, span, table } from "./layout.js";
import { inStores, offlineDeps } from "./offline.js";

export async function status(context: CliContext, options: { readonly json?: boolean }): Promise<number> {
  const { config } = offlineDeps(context);
  const running = gatewayRuns(config);
  const now = systemClock.now();
  const state = await inStores(context, (offline) => readStatus(offline, config.memory.provider, now));
  if (state === undefined) return exitCodes.failed;
  if (options.json === true) {
    context.print(JSON.stringify({ data: config.data.dir, running, at: now, ...state }, null, 2));
    return exitCodes.ok;
  }
  context.print([...summary(config.data.dir, running, state, now), "", platforms(state, now), ...dayLines(state)].join("\n"));
  return exitCodes.ok;
}

function summary(dir: string, running: boolean, state: Status, now: number): string[] {
  const { jobs } = state;
  const turns = state.openTurns === 0 ? "none" : `${state.openTurns}, the oldest for ${span(now - (state.oldestTurnAt ?? now))}`;
  const oldestJob = jobs.oldestOpenAt === undefined ? "" : `, the oldest for ${span(now - jobs.oldestOpenAt)}`;
  const operators = state.people.operators.map(
    ({ platform, accountId, displayName }) => `${clean(displayName)} (${clean(accountKey(platform, accountId))})`,
  );
  return [
    `Gateway:   ${running ? "running" : "not running"} on ${dir} (schema ${state.schema})`,
    ...healthLines(running, state, now),
    `Turns:     ${turns}; sessions: ${state.activeSessions}`,
    `Jobs:      ${jobs.open} open${oldestJob}, ${jobs.active} active, ${jobs.failed} failed${jobs.failed === 0 ? "" : " (mneme jobs list --state failed)"}; ${workers(running, state)}`,
    ...(state.external === undefined ? [] : [`Memory:    ${clean(state.external)}`]),
    `People:    ${state.people.admitted} admitted; operators: ${operators.join(", ") || "none besides those of the settings"}`,
    ...(state.codes === 0 ? [] : [`Pairing:   ${state.codes} waiting for approval: mneme pair list`]),
  ];
}

/** A gateway looks every 10 s; what it said much earlier tells nothing about now. */
const reportAgeMs = 60_000;

function healthLines(running: boolean, { health }: Status, now: number): string[] {
  if (!running) return [];
  if (health === undefined || now - health.at > reportAgeMs) {
    return [`Health:    unknown: the last report is ${health === undefined ? "missing" : `${span(now - health.at)} old`}`];
  }
  if (health.status === "ok") return [`Health:    ok, ${span(now - health.at)} ago`];
  return health.problems.map(({ subject, message }) => `Health:    ${clean(subject)}: ${clean(message)}`);
}

function workers(running: boolean, state: Status): string {
  // A gateway that does its jobs itself has a bare id, a worker process HOST-ID.
  const names = state.workers.flatMap(({ worker }) => (worker.includes("-") ? [clean(worker)] : running ? ["the gateway itself"] : []));
  if (names.length > 0) return `done by ${[...new Set(names)].join(", ")}`;
  return running ? "nobody does them: start mneme worker" : "nobody does them now";
}

function platforms(state: Status, now: number): string {
  if (state.platforms.length === 0) return "No message has come in yet.";
  return table(
    ["platform", "last event", "last sent", "unanswered", "to send", "unknown", "given up"],
    state.platforms.map((one) => [
      one.platform,
      ago(one.lastEventAt, now),
      ago(one.lastSentAt, now),
      waiting(one.open, one.oldestOpenAt, now),
      waiting((one.outbox.waiting ?? 0) + (one.outbox.sending ?? 0), one.oldestWaitingAt, now),
      String(one.outbox.unknown ?? 0),
      String((one.outbox.refused ?? 0) + (one.outbox.expired ?? 0)),
    ]),
  );
}

function waiting(count: number, oldestAt: number | undefined, now: number): string {
  return count === 0 || oldestAt === undefined ? String(count) : `${count} (oldest ${span(now - oldestAt)})`;
}

function dayLines(state: Status): string[] {
  return state.platforms.flatMap(({ platform, lastDay }) => {
    const parts = Object.entries(lastDay).map(([disposition, count]) => `${count} ${disposition}`);
    return parts.length === 0 ? [] : [`${platform}, last 24 hours: ${parts.join(", ")}`];
  });
}
