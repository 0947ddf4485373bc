import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBInstance,
  DuckDBTimestampMillisecondsValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { type StatusEvent, textOf, valueAt } from './read-event.ts';

/** The table's columns that an entry of `TxInfAndSts` fills, with where in the entry their values are. */
const FROM_ENTRY: Readonly<Record<string, readonly string[]>> = {
  orgnlMsgId: ['OrgnlGrpInf', 'OrgnlMsgId'],
  orgnlMsgNmId: ['OrgnlGrpInf', 'OrgnlMsgNmId'],
  orgnlInstrId: ['OrgnlInstrId'],
  orgnlUETR: ['OrgnlUETR'],
  txSts: ['TxSts'],
  instgAgtBic: ['InstgAgt', 'FinInstnId', 'BICFI'],
  instdAgtBic: ['InstdAgt', 'FinInstnId', 'BICFI'],
};

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS events (
    eventId UUID PRIMARY KEY, entityId VARCHAR, ref VARCHAR NOT NULL, receivedAt TIMESTAMP_MS NOT NULL,
    status VARCHAR, transactions INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS transactions (
    eventId UUID NOT NULL, entityId VARCHAR, ref VARCHAR NOT NULL, receivedAt TIMESTAMP_MS NOT NULL,
    status VARCHAR, txIndex INTEGER NOT NULL, ${Object.keys(FROM_ENTRY)
      .map((name) => `${name} VARCHAR`)
      .join(', ')}, createdAt TIMESTAMP_MS
  );
  -- A file of an earlier version of this example does not have it.
  ALTER TABLE transactions ADD COLUMN IF NOT EXISTS createdAt TIMESTAMP_MS;
`;

/** Rows that are held back before they are written: a list of any length takes the memory of these. */
const ROWS_PER_FLUSH = 10_000;

export type Stored = { readonly events: number; readonly repeats: number; readonly transactions: number };

/**
 * A flat table of transactions in DuckDB, one row for each entry of `TxInfAndSts`, and the events that they came with. Every
 * event is stored exactly once, however often it comes, as its id is stored in the transaction that stores its rows.
 */
export class TransactionTable implements AsyncDisposable {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  /** @param file which one process at a time can have open; `:memory:` for none */
  static async open(file: string, { readOnly = false } = {}): Promise<TransactionTable> {
    const instance = await DuckDBInstance.create(file, {
      memory_limit: '256MB',
      threads: '2',
      // What it needs comes with the package.
      autoinstall_known_extensions: 'false',
      ...(readOnly && { access_mode: 'READ_ONLY' }),
    });
    const connection = await instance.connect();
    if (!readOnly) await connection.run(SCHEMA);
    return new TransactionTable(instance, connection);
  }

  /** Stores all of these events or, where one of them cannot be read, none. Durable when it returns. */
  async store(events: AsyncIterable<StatusEvent> | Iterable<StatusEvent>): Promise<Stored> {
    const connection = await this.#instance.connect();
    await connection.run('BEGIN');
    const appender = await connection.createAppender('transactions');
    const stored = { events: 0, repeats: 0, transactions: 0 };
    try {
      for await (const event of events) {
        if (await addEvent(connection, event)) {
          appendTransactions(appender, event);
          stored.events += 1;
          stored.transactions += event.transactions.length;
        } else stored.repeats += 1;
      }
      appender.closeSync();
      await connection.run('COMMIT');
      return stored;
    } finally {
      // What was not committed goes with the connection. Rows that are held back are dropped first: after a statement that
      // failed they cannot be written, and that error would hide the first.
      appender.clear();
      appender.closeSync();
      connection.closeSync();
    }
  }

  async query(sql: string): Promise<Record<string, DuckDBValue>[]> {
    return (await this.#connection.runAndReadAll(sql)).getRowObjects();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** Says whether the event is new. */
async function addEvent(connection: DuckDBConnection, event: StatusEvent): Promise<boolean> {
  const { eventId, entityId, ref, receivedAt, status, transactions } = event;
  const { rowsChanged } = await connection.run(
    'INSERT INTO events VALUES (?, ?, ?, epoch_ms(?::BIGINT), ?, ?) ON CONFLICT DO NOTHING',
    [eventId, entityId, ref, BigInt(receivedAt), status, transactions.length],
  );
  return rowsChanged === 1;
}

/** In the transaction that is open on the appender's connection. */
function appendTransactions(appender: DuckDBAppender, event: StatusEvent): void {
  const receivedAt = new DuckDBTimestampMillisecondsValue(BigInt(event.receivedAt));
  const createdAt =
    event.createdAt === null ? null : new DuckDBTimestampMillisecondsValue(BigInt(event.createdAt));
  const appendText = (text: string | null) =>
    text === null ? appender.appendNull() : appender.appendVarchar(text);
  for (const [index, entry] of event.transactions.entries()) {
    appender.appendVarchar(event.eventId);
    appendText(event.entityId);
    appender.appendVarchar(event.ref);
    appender.appendTimestampMilliseconds(receivedAt);
    appendText(event.status);
    appender.appendInteger(index);
    for (const path of Object.values(FROM_ENTRY)) appendText(textOf(valueAt(entry, path)));
    if (createdAt === null) appender.appendNull();
    else appender.appendTimestampMilliseconds(createdAt);
    appender.endRow();
    if (index % ROWS_PER_FLUSH === ROWS_PER_FLUSH - 1) appender.flushSync();
  }
}
