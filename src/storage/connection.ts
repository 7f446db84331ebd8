/**
 * One connection to SQLite: prepared statements and synchronous transactions. The only file that imports the driver; it never
 * waits for a lock (timeout 0), its callers do.
 */
import SqliteDriver from "better-sqlite3";
import { GatewayError } from "../domain/errors.js";
import type { SqlParams, Tx } from "./sql.js";

const journalSizeLimit = 16 * 1024 * 1024;
const keptStatements = 500;

export class Connection {
  readonly driver: SqliteDriver.Database;
  readonly #statements = new Map<string, SqliteDriver.Statement<unknown[]>>();
  #reader: Tx | undefined;
  #writer: Tx | undefined;

  constructor(file: string) {
    this.driver = new SqliteDriver(file, { timeout: 0 });
  }

  prepare(sql: string): SqliteDriver.Statement<unknown[]> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const oldest = this.#statements.size >= keptStatements ? this.#statements.keys().next().value : undefined;
    if (oldest !== undefined) this.#statements.delete(oldest);
    const statement = this.driver.prepare<unknown[]>(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** The words of a transaction of this kind; the same object each time. */
  tx(writable: boolean): Tx {
    const known = writable ? this.#writer : this.#reader;
    if (known !== undefined) return known;
    const made = this.#makeTx(writable);
    if (writable) this.#writer = made;
    else this.#reader = made;
    return made;
  }

  #makeTx(writable: boolean): Tx {
    const prepare = (sql: string, params: SqlParams | undefined): [SqliteDriver.Statement<unknown[]>, unknown[]] => {
      const statement = this.prepare(sql);
      if (!writable && !statement.readonly) throw new GatewayError("internal", "A read transaction may not write.");
      return [statement, params === undefined ? [] : Array.isArray(params) ? params : [params]];
    };
    return {
      all<Row>(sql: string, params?: SqlParams) {
        const [statement, values] = prepare(sql, params);
        return statement.all(...values) as Row[];
      },
      get<Row>(sql: string, params?: SqlParams) {
        const [statement, values] = prepare(sql, params);
        return statement.get(...values) as Row | undefined;
      },
      run(sql, params) {
        const [statement, values] = prepare(sql, params);
        const result = statement.run(...values);
        return { changes: result.changes, id: Number(result.lastInsertRowid) };
      },
      exec: (sql) => {
        if (!writable) throw new GatewayError("internal", "A read transaction may not write.");
        this.driver.exec(sql);
      },
    };
  }

  /** One transaction, begun and ended here; synchronous. */
  transact<T>(begin: "BEGIN" | "BEGIN IMMEDIATE" | "BEGIN EXCLUSIVE", work: (tx: Tx) => T): T {
    if (this.driver.inTransaction) throw new GatewayError("internal", "A transaction is open already; use its Tx.");
    this.prepare(begin).run();
    try {
      const result = work(this.tx(begin !== "BEGIN"));
      if (result instanceof Promise) throw new GatewayError("internal", "A transaction may not await.");
      this.prepare("COMMIT").run();
      return result;
    } catch (error) {
      if (this.driver.inTransaction) this.prepare("ROLLBACK").run();
      throw error;
    }
  }
}

/** Opens a file in WAL mode and adds the connection to `opened`, so that a failing start can close it. */
export function openWal(file: string, synchronous: "FULL" | "NORMAL", opened: Connection[]): Connection {
  const connection = new Connection(file);
  try {
    connection.driver.pragma("journal_mode = WAL");
    connection.driver.pragma(`synchronous = ${synchronous}`);
    connection.driver.pragma("foreign_keys = ON");
    connection.driver.pragma("wal_autocheckpoint = 0");
    connection.driver.pragma(`journal_size_limit = ${journalSizeLimit}`);
  } catch (error) {
    connection.driver.close();
    throw error;
  }
  opened.push(connection);
  return connection;
}
