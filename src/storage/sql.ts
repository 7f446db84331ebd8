/**
 * The words in which the storage files talk to a transaction, so that only database.ts knows the driver. A `Tx` is valid
 * only while the callback it was passed to runs.
 */

export type SqlValue = string | number | bigint | Uint8Array | null;
/** By position (`?`) or by name (`@name`). */
export type SqlParams = readonly SqlValue[] | { readonly [name: string]: SqlValue };

export interface Tx {
  /** All rows of a query. The caller names the row's type; columns come as SQLite has them. */
  all<Row>(sql: string, params?: SqlParams): Row[];
  /** The first row. */
  get<Row>(sql: string, params?: SqlParams): Row | undefined;
  /** Rows changed and the last inserted row id (of this or an earlier insert). Not allowed in a read. */
  run(sql: string, params?: SqlParams): { readonly changes: number; readonly id: number };
  /** Several statements without parameters (schema). Not allowed in a read. */
  exec(sql: string): void;
}
