/**
 * The stores on one database. Search plugs in through `onEntries`, so that a message and its index row are one commit.
 */
import type { Clock, Ids } from "../ports/runtime.js";
import type { Access } from "../ports/access.js";
import type { Inbox, Outbox } from "../ports/mailbox.js";
import type { MemoryLog } from "../ports/memory-log.js";
import type { Overlay, Sessions, Turns } from "../ports/stores.js";
import { createAccess } from "./access.js";
import type { Database } from "./database.js";
import { createInbox } from "./inbox.js";
import { createMemoryLog } from "./memory-log.js";
import { createOutbox } from "./outbox.js";
import { createOverlay } from "./overlay.js";
import { feedMessages } from "./search-feed.js";
import { createSessions } from "./sessions.js";
import type { OnEntries } from "./indexed-message.js";
import { createTurns } from "./turn-journal.js";

export interface StoresDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  /** What else is done with messages in their own transaction; by default they go into the search index. */
  readonly onEntries?: OnEntries;
}

export interface Stores {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly access: Access;
  readonly memoryLog: MemoryLog;
  readonly overlay: Overlay;
}

export function createStores(deps: StoresDeps): Stores {
  return {
    inbox: createInbox(deps),
    outbox: createOutbox(deps),
    sessions: createSessions(deps),
    turns: createTurns({ onEntries: feedMessages, ...deps }),
    access: createAccess(deps),
    memoryLog: createMemoryLog(deps),
    overlay: createOverlay(deps),
  };
}
