import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A record by one of its terms. */
export type Entry = {
  /** A hash of what it can be found by. */
  readonly term: number;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since 1970, when it was written. */
  readonly time: number;
  /** Of the state topic: it does not count, as a replaced process wrote it. */
  readonly isLate: boolean;
};

/** What the index holds of a partition: offsets from `first` to the one before `next`. */
export type Covered = { readonly partition: number; readonly first: number; readonly next: number };

/** Of another format the file is begun anew. */
export const FORMAT = 1;

/** What is lost with the machine is read again: commits need not reach the disk. 8 MiB of pages in memory. */
export const OPEN_SQL = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = OFF;
  PRAGMA cache_size = -8192;
  PRAGMA journal_size_limit = 16777216;
`;

export const CREATE_SQL = `
  CREATE TABLE IF NOT EXISTS topics (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, topic_id TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS progress (topic INTEGER, partition INTEGER, first INTEGER, next INTEGER,
    PRIMARY KEY (topic, partition)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS segments (id INTEGER PRIMARY KEY, entries INTEGER) STRICT;
  CREATE TABLE IF NOT EXISTS starts (segment INTEGER, topic INTEGER, partition INTEGER, first INTEGER,
    PRIMARY KEY (segment, topic, partition)) STRICT, WITHOUT ROWID;
  PRAGMA user_version = ${FORMAT};
`;

const createSegment = (id: number) => `
  CREATE TABLE seen_${id} (term INTEGER, topic INTEGER, partition INTEGER, offset INTEGER, time INTEGER, late INTEGER,
    PRIMARY KEY (term, topic, partition, offset)) STRICT, WITHOUT ROWID
`;

/** About 15 MiB: its inner pages stay in memory while it is written, and dropping it takes a few milliseconds. */
const SEGMENT_ENTRIES = 500_000;

/** No more entries of a term are counted. */
export const MAX_COUNT = 10_000;

type Row = { partition: number; offset: number; time: number; late: number };
type Statements = {
  readonly insert: StatementSync;
  readonly count: StatementSync;
  readonly latest: StatementSync;
};

/**
 * The entries, in tables that are filled one after the other, so that the oldest entries can be dropped at once when the
 * file has reached its size.
 */
export class Segments {
  readonly #db: DatabaseSync;
  readonly #maxBytes: number;
  readonly #segmentEntries: number;
  /** The newest one comes last. */
  readonly #tables: { readonly id: number; entries: number; readonly statements: Statements }[] = [];

  constructor(db: DatabaseSync, maxBytes: number, segmentEntries = SEGMENT_ENTRIES) {
    this.#db = db;
    this.#segmentEntries = segmentEntries;
    this.#maxBytes = maxBytes;
    const rows = db.prepare('SELECT id, entries FROM segments ORDER BY id').all();
    for (const { id, entries } of rows as { id: number; entries: number }[])
      this.#tables.push({ id, entries, statements: this.#statements(id) });
  }

  /** Within a transaction. */
  add(topic: number, entries: readonly Entry[], covered: readonly Covered[]): void {
    const table = this.#writable();
    for (const { partition, first } of covered)
      this.#db
        .prepare('INSERT OR IGNORE INTO starts VALUES (?, ?, ?, ?)')
        .run(table.id, topic, partition, first);
    // In the order of the table's key, its pages are touched one after the other.
    for (const { term, partition, offset, time, isLate } of entries.toSorted((a, b) => a.term - b.term))
      table.statements.insert.run(term, topic, partition, offset, time, isLate ? 1 : 0);
    table.entries += entries.length;
    this.#db.prepare('UPDATE segments SET entries = ? WHERE id = ?').run(table.entries, table.id);
    const move = this.#db.prepare(
      'INSERT INTO progress VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET first = max(first, excluded.first), next = excluded.next',
    );
    for (const { partition, first, next } of covered) move.run(topic, partition, first, next);
  }

  /** The latest entries of a term, and how many there are, up to {@link MAX_COUNT}. */
  find(term: number, topic: number, latest: number) {
    const partitions = this.#db.prepare('SELECT partition FROM progress WHERE topic = ?').all(topic);
    let count = 0;
    const rows: Row[] = [];
    for (const { statements } of this.#tables) {
      const isCounted = count < MAX_COUNT;
      const here = isCounted ? Number(statements.count.get(term, topic)?.count) : 0;
      count += here;
      // Most ids are in one segment; a topic may have a thousand partitions.
      if (isCounted && here === 0) continue;
      // Backwards along the key: of a term with a million entries only these are read.
      for (const { partition } of partitions as { partition: number }[])
        rows.push(...(statements.latest.all(term, topic, partition, latest) as Row[]));
    }
    const entries = rows
      .sort((a, b) => b.time - a.time)
      .slice(0, latest)
      .map(({ late, ...row }) => ({ ...row, isLate: late === 1 }));
    return { count: Math.min(count, MAX_COUNT), entries };
  }

  /** Drops the oldest segments while the file is too large: the newest one stays. */
  shrink(): void {
    while (this.bytes > this.#maxBytes && this.#tables.length > 1) {
      const { id } = this.#tables.shift() as { id: number };
      this.#db.exec(`BEGIN; DROP TABLE seen_${id}; DELETE FROM segments WHERE id = ${id};
        DELETE FROM starts WHERE segment = ${id};
        UPDATE progress SET first = coalesce((SELECT min(s.first) FROM starts s
          WHERE s.topic = progress.topic AND s.partition = progress.partition), next); COMMIT`);
    }
  }

  get bytes(): number {
    const pragma = (name: string) => Number(this.#db.prepare(`PRAGMA ${name}`).get()?.[name]);
    return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  }

  #writable() {
    const last = this.#tables.at(-1);
    if (last && last.entries < this.#segmentEntries) return last;
    const id = (last?.id ?? 0) + 1;
    this.#db.exec(createSegment(id));
    this.#db.exec(`INSERT INTO segments VALUES (${id}, 0);
      INSERT INTO starts SELECT ${id}, topic, partition, next FROM progress`);
    const table = { id, entries: 0, statements: this.#statements(id) };
    this.#tables.push(table);
    return table;
  }

  #statements(id: number): Statements {
    const where = `FROM seen_${id} WHERE term = ? AND topic = ?`;
    return {
      insert: this.#db.prepare(`INSERT OR IGNORE INTO seen_${id} VALUES (?, ?, ?, ?, ?, ?)`),
      count: this.#db.prepare(`SELECT count(*) AS count FROM (SELECT 1 ${where} LIMIT ${MAX_COUNT})`),
      latest: this.#db.prepare(
        `SELECT partition, offset, time, late ${where} AND partition = ? ORDER BY offset DESC LIMIT ?`,
      ),
    };
  }
}
