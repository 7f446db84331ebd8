/** What people chose for their chats at run time, all at once: the gateway holds it in memory. */
import type { Database } from "./database.js";

export interface ChatChoice {
  readonly scope: string;
  readonly key: string;
  readonly value: string;
}

export function readChatChoices(db: Database): Promise<ChatChoice[]> {
  return db.read((tx) => tx.all<ChatChoice>("select scope, key, value from settings where scope >= 'chat:' and scope < 'chat;'"));
}
