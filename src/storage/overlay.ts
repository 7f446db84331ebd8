/**
 * Settings changed at run time, laid over the frozen configuration. Text only: whoever reads a value checks it.
 */
import type { Clock } from "../ports/runtime.js";
import type { Overlay } from "../ports/stores.js";
import type { Database } from "./database.js";

export function createOverlay({ db, clock }: { readonly db: Database; readonly clock: Clock }): Overlay {
  return {
    get: (scope, key) =>
      db.read((tx) => tx.get<{ value: string }>("select value from settings where scope = ? and key = ?", [scope, key])?.value),
    async set(scope, key, value) {
      await db.write((tx) => {
        if (value === undefined) return tx.run("delete from settings where scope = ? and key = ?", [scope, key]);
        return tx.run(
          `insert into settings (scope, key, value, updated_at) values (?, ?, ?, ?)
           on conflict (scope, key) do update set value = excluded.value, updated_at = excluded.updated_at`,
          [scope, key, value, clock.now()],
        );
      });
    },
  };
}
