/**
 * What the end of a turn hands to whoever indexes its messages, inside the same transaction.
 */
import type { Entry } from "../domain/transcript.js";
import type { Tx } from "./sql.js";

/** A message as it has just been stored, for whoever indexes it in the same transaction. */
export interface IndexedMessage {
  readonly id: number;
  readonly sessionId: string;
  readonly spaceId: string;
  readonly origin: string;
  /** True: not to be found by any search. */
  readonly isPrivate: boolean;
  readonly role: Entry["role"];
  readonly text: string;
  readonly at: number;
}

/** Runs inside the message's own transaction, after the messages were stored. Must not await. */
export type OnEntries = (tx: Tx, messages: readonly IndexedMessage[]) => void;
