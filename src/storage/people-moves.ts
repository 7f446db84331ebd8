/**
 * Moves what hangs on a person from one to another, inside one transaction: for linking, parting and forgetting. Search rows name accounts and
 * not people, so they never move.
 */
import type { Tx } from "./sql.js";

/** True while a turn or a job of one of these spaces runs: nothing may be moved then. */
export function isWorking(tx: Tx, personIds: readonly string[]): boolean {
  return personIds.some(
    (id) =>
      tx.get(
        "select 1 from turns t join sessions s on s.id = t.session_id where t.state = 'running' and (s.space_id = ? or t.person_id = ?)",
        [id, id],
      ) !== undefined || tx.get("select 1 from intents where space_id = ? and state = 'active'", [id]) !== undefined,
  );
}

/** All of one person becomes the other's. */
export function movePerson(tx: Tx, from: string, to: string): void {
  const names = { from, to };
  tx.run("update accounts set person_id = @to where person_id = @from", names);
  tx.run("update sessions set space_id = @to, person_id = @to, needs_rebuild = 1 where space_id = @from", names);
  tx.run("update sessions set needs_rebuild = 1 where space_id = @to", { to });
  moveJobs(tx, "space_id = @from", names);
  tx.run("update turns set person_id = @to where person_id = @from", names);
  tx.run("update or ignore memory_pending set person_id = @to where person_id = @from", names);
  tx.run("delete from memory_pending where person_id = @from", { from });
  tx.run("update or ignore settings set scope = 'person:' || @to where scope = 'person:' || @from", names);
  tx.run("update or ignore settings set scope = 'profile:' || @to where scope = 'profile:' || @from", names);
  moveCounters(tx, from, to);
}

/** One account of a person becomes another person's, with the conversations of its direct messages. */
export function moveAccount(tx: Tx, account: { readonly platform: string; readonly accountId: string }, from: string, to: string): void {
  const origin = `${account.platform}:dm:${account.accountId}`;
  const names = { from, to, origin, platform: account.platform, accountId: account.accountId };
  tx.run("update accounts set person_id = @to where platform = @platform and account_id = @accountId", {
    to,
    platform: account.platform,
    accountId: account.accountId,
  });
  moveJobs(tx, "space_id = @from and session_id in (select id from sessions where origin = @origin)", { from, to, origin });
  tx.run(
    `update turns set person_id = @to where person_id = @from
       and json_extract(speaker, '$.platform') = @platform and json_extract(speaker, '$.accountId') = @accountId`,
    { from, to, platform: account.platform, accountId: account.accountId },
  );
  tx.run("update sessions set space_id = @to, person_id = @to where space_id = @from and origin = @origin", {
    from,
    to,
    origin: names.origin,
  });
  tx.run("update sessions set needs_rebuild = 1 where space_id in (@from, @to)", { from, to });
}

function moveJobs(tx: Tx, where: string, names: { readonly [name: string]: string }): void {
  tx.run(
    `update intents set space_id = @to, payload = json_set(payload, '$.spaceId', @to) where ${where} and state in ('open', 'failed')`,
    names,
  );
}

function moveCounters(tx: Tx, from: string, to: string): void {
  tx.run(
    `insert into counters (space_id, memory_turns, skill_iterations) select ?, memory_turns, skill_iterations from counters where space_id = ?
     on conflict (space_id) do update set memory_turns = memory_turns + excluded.memory_turns,
       skill_iterations = skill_iterations + excluded.skill_iterations`,
    [to, from],
  );
  tx.run("delete from counters where space_id = ?", [from]);
}

/** The person whose direct messages an origin is; undefined for a group's. */
export function ownerOfOrigin(tx: Tx, platform: string, origin: string): string | undefined {
  const start = `${platform}:dm:`;
  return origin.startsWith(start) ? ownerOfAccount(tx, platform, origin.slice(start.length)) : undefined;
}

export function ownerOfAccount(tx: Tx, platform: string, accountId: string): string | undefined {
  return tx.get<{ id: string }>("select person_id as id from accounts where platform = ? and account_id = ?", [platform, accountId])?.id;
}
