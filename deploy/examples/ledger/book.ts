import { DatabaseSync } from 'node:sqlite';

/** What the book keeps of an event of payment-status (schemas/events/payment-status.avsc). */
export type PaymentEvent = {
  readonly eventId: string;
  readonly entityId: string;
  /** The ref that received it. */
  readonly subscription: string | null;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Null where the message has none: that says nothing about the payment. */
  readonly status: string | null;
  /** The message as the provider sent it, JSON; null where nothing keeps it (policy "omit"). */
  readonly source: string | null;
};

export type Payment = { readonly entityId: string; readonly status: string | null; readonly changes: number };

const HAS_TIMES = "SELECT count(*) AS count FROM pragma_table_info('payments') WHERE name = 'received_at'";

/**
 * A ledger's book: each payment's status, and how often it changed. Every event has its effect exactly once, however
 * often it comes, as its id is stored in the transaction that has the effect. Any database that has transactions and
 * a unique key does as well.
 */
export class Book implements Disposable {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    // Whoever else has the file open may have locked it for a moment: without a timeout this process would end.
    this.#db = new DatabaseSync(file, { timeout: 5_000 });
    this.#db.exec(`
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS booked (event_id TEXT PRIMARY KEY, source TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS payments (entity_id TEXT PRIMARY KEY, status TEXT, changes INTEGER NOT NULL,
        received_at INTEGER NOT NULL DEFAULT 0);
    `);
    // A file of an earlier version of this example has no times.
    const { count } = this.#db.prepare(HAS_TIMES).get() ?? {};
    if (count === 0) this.#db.exec('ALTER TABLE payments ADD COLUMN received_at INTEGER NOT NULL DEFAULT 0');
  }

  /** Books an event, unless it is booked already; says whether it did. Durable when it returns. */
  book(event: PaymentEvent): boolean {
    const { eventId, source } = event;
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const { changes } = this.#db
        .prepare('INSERT INTO booked (event_id, source) VALUES (?, ?) ON CONFLICT DO NOTHING')
        // Empty for no message: a column that can be null would need another table in files that are there already.
        .run(eventId, source ?? '');
      const isNew = Number(changes) === 1;
      if (isNew) this.#apply(event);
      this.#db.exec('COMMIT');
      return isNew;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * The effect. That it is not the same when it is had twice is what makes this a ledger. An event that was received before the last
   * one counts, and leaves the status: what one pod holds in its spool can come behind what another has published.
   */
  #apply({ entityId, status, receivedAt }: PaymentEvent): void {
    this.#db
      .prepare(
        `INSERT INTO payments (entity_id, status, changes, received_at) VALUES (?, ?, 1, ?)
         ON CONFLICT (entity_id) DO UPDATE SET changes = changes + 1,
           status = CASE WHEN excluded.received_at >= received_at
             THEN coalesce(excluded.status, status) ELSE coalesce(status, excluded.status) END,
           received_at = max(received_at, excluded.received_at)`,
      )
      // One that says nothing of the status leaves the time that the status is of.
      .run(entityId, status, status === null ? 0 : receivedAt);
  }

  payments(): Payment[] {
    const rows = this.#db.prepare('SELECT entity_id, status, changes FROM payments ORDER BY entity_id').all();
    return rows.map(({ entity_id, status, changes }) => ({
      entityId: String(entity_id),
      status: status === null ? null : String(status),
      changes: Number(changes),
    }));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}
