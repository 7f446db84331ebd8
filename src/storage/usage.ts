/** Sums over the turns' own columns: what is counted is what each commit stored. */
import type { ModelUsage, UsageOf, UsageStore } from "../ports/usage.js";
import type { Database } from "./database.js";

export function createUsageStore({ db }: { readonly db: Database }): UsageStore {
  return {
    sum(of, since) {
      const [where, value] = conditionOf(of);
      return db.read((tx) =>
        tx.all<ModelUsage>(
          `select coalesce(model, '') as model, sum(input_tokens) as inputTokens, sum(cached_tokens) as cachedTokens,
             sum(output_tokens) as outputTokens, count(*) as turns
           from turns where state <> 'running' and started_at >= @since and ${where} group by model order by model`,
          value === undefined ? { since } : { since, value },
        ),
      );
    },
    savedBy(turnId) {
      return db.read((tx) =>
        tx
          .all<{ target: string; before: string | null; after: string | null }>(
            `select target, before_text as before, after_text as after from memory_events
             where turn_id = ? and undone_by is null and action in ('add', 'replace', 'remove') order by id`,
            [turnId],
          )
          .map(({ target, before, after }) => `${target === "user" ? "USER.md" : "MEMORY.md"}: ${after ?? `− ${before ?? "…"}`}`),
      );
    },
  };
}

function conditionOf(of: UsageOf): readonly [string, string | undefined] {
  if ("personId" in of) return ["person_id = @value", of.personId];
  if ("sessionId" in of) return ["session_id = @value", of.sessionId];
  if ("everybody" in of) return ["1", undefined];
  return [
    "id = (select id from turns where session_id = @value and state <> 'running' order by started_at desc, id desc limit 1)",
    of.lastTurnOf,
  ];
}
