import { DatabaseSync } from 'node:sqlite';

/** What the book keeps of an event of payment-status (schemas/events/payment-status.avsc). */
export type PaymentEvent = {
  readonly eventId: string;
  readonly entityId: string;
  /** The ref that received it. */
  readonly subscription: string | null;
  /** When the provider made the message or, where it does not say so, when it was received. Milliseconds since 1970. */
  readonly statedAt: number;
  /** Null where the message has none: that says nothing about the payment. */
  readonly status: string | null;
  /** The message as the provider sent it, JSON; null where nothing keeps it (policy "omit"). */
  readonly source: string | null;
};

type Status = Pick<PaymentEvent, 'status' | 'statedAt'>;

export type Payment = { readonly entityId: string; readonly status: string | null; readonly changes: number };

const HAS_COLUMN = "SELECT count(*) AS count FROM pragma_table_info('payments') WHERE name = ?";

/** Statuses of a transaction (ISO 20022, ExternalPaymentTransactionStatus1Code) that none which is not final follows. */
const FINAL = new Set(['ACCC', 'ACSC', 'CANC', 'RJCT']);

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
        stated_at INTEGER NOT NULL DEFAULT 0);
    `);
    // A file of an earlier version of this example has none, or the time of receipt.
    const has = (column: string) => this.#db.prepare(HAS_COLUMN).get(column)?.count !== 0;
    if (!has('stated_at')) {
      this.#db.exec('ALTER TABLE payments ADD COLUMN stated_at INTEGER NOT NULL DEFAULT 0');
      if (has('received_at')) this.#db.exec('UPDATE payments SET stated_at = received_at');
    }
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
   * The effect. That it is not the same when it is had twice is what makes this a ledger. An event with an earlier status counts, and
   * leaves the status: what the provider sends again, or one pod has in its spool, can come behind later ones.
   */
  #apply({ entityId, status, statedAt }: PaymentEvent): void {
    const event = { status, statedAt };
    const before = this.#statusOf(entityId);
    const kept = before && !takesPlaceOf(before, event) ? before : event;
    this.#db
      .prepare(
        `INSERT INTO payments (entity_id, status, changes, stated_at) VALUES (?, ?, 1, ?)
         ON CONFLICT (entity_id) DO UPDATE SET changes = changes + 1,
           status = excluded.status, stated_at = excluded.stated_at`,
      )
      .run(entityId, kept.status, kept.statedAt);
  }

  #statusOf(entityId: string): Status | undefined {
    const row = this.#db.prepare('SELECT status, stated_at FROM payments WHERE entity_id = ?').get(entityId);
    return row && { status: textOf(row.status), statedAt: Number(row.stated_at) };
  }

  payments(): Payment[] {
    const rows = this.#db.prepare('SELECT entity_id, status, changes FROM payments ORDER BY entity_id').all();
    return rows.map(({ entity_id, status, changes }) => ({
      entityId: String(entity_id),
      status: textOf(status),
      changes: Number(changes),
    }));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

/** Not by when they were received: a retry after a refusal is received later than what came in between. */
function takesPlaceOf(before: Status, event: Status): boolean {
  if (before.status === null || event.status === null) return before.status === null;
  const isFinal = FINAL.has(event.status);
  if (isFinal !== FINAL.has(before.status)) return isFinal;
  return event.statedAt >= before.statedAt;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
