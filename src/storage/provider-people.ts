/** Look-ups for the external memory that go over people: where somebody spoke, and where operators can be told something. */
import { accountKey, sessionKey } from "../domain/identity.js";
import type { Route } from "../domain/message.js";
import { fromJson, idList } from "./json-column.js";
import type { Tx } from "./sql.js";

export interface SessionsOfPerson {
  readonly own: readonly string[];
  readonly groups: readonly { readonly sessionId: string; readonly spaceId: string }[];
}

export function sessionsOf(
  tx: Tx,
  personIds: readonly string[],
  accounts: readonly { readonly platform: string; readonly accountId: string }[],
): SessionsOfPerson {
  const own = tx.all<{ id: string }>(
    `select id from sessions where space_kind = 'person' and is_private = 0
       and (person_id in (select value from json_each(@people)) or space_id in (select value from json_each(@people))) order by id`,
    { people: idList(personIds) },
  );
  const groups = new Map<string, string>();
  for (const { platform, accountId } of accounts) {
    const rows = tx.all<{ id: string; space_id: string }>(
      `select s.id, s.space_id from sessions s where s.platform = ? and s.space_kind = 'group' and s.is_private = 0
         and exists (select 1 from messages m where m.session_id = s.id and m.role = 'user' and m.account_id = ?) order by s.id`,
      [platform, accountId],
    );
    for (const row of rows) groups.set(row.id, row.space_id);
  }
  return { own: own.map(({ id }) => id), groups: [...groups].map(([sessionId, spaceId]) => ({ sessionId, spaceId })) };
}

/** One route per operator's account that has ever talked to the bot in a direct message. */
export function operatorRoutes(tx: Tx, listed: readonly string[]): Route[] {
  const stored = tx.all<{ platform: string; account_id: string }>("select platform, account_id from accounts where role = 'operator'");
  const keys = new Set([...stored.map((row) => accountKey(row.platform, row.account_id)), ...listed]);
  return [...keys].flatMap((key) => {
    const colon = key.indexOf(":");
    const [platform, accountId] = [key.slice(0, colon), key.slice(colon + 1)];
    const own = sessionKey({ platform, accountId, chat: { id: "", kind: "dm" } }, "chat");
    const row = tx.get<{ route: string }>(
      "select route from sessions where platform = ? and (key = ? or substr(key, 1, length(?) + 1) = ? || '/') order by last_active_at desc limit 1",
      [platform, own, own, own],
    );
    return row === undefined ? [] : [fromJson<Route>(row.route)];
  });
}
