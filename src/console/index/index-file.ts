import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Covered, CREATE_SQL, type Entry, FORMAT, OPEN_SQL, Segments } from './segments.ts';

/** The records of a topic that a term may be in: the latest ones, and how many there are, or {@link MAX_COUNT} at least. */
export type Hits = {
  readonly topic: string;
  readonly count: number;
  readonly latest: readonly Omit<Entry, 'term'>[];
};

const FILE_NAME = 'index.sqlite';

/**
 * Which records can be found by which term: numbers in a SQLite file. It holds nothing that Kafka does not have, so that
 * a file of another format, or one that cannot be read, is removed and begun anew.
 */
export class IndexFile implements Disposable {
  readonly #db: DatabaseSync;
  readonly #openSegments: () => Segments;
  #segments: Segments;

  /** @param segmentEntries entries that leave it together */
  constructor(dir: string, maxBytes: number, segmentEntries?: number) {
    this.#db = openFile(dir);
    this.#openSegments = () => new Segments(this.#db, maxBytes, segmentEntries);
    this.#segments = this.#openSegments();
  }

  /** What it holds of a topic. A topic that was deleted and created anew is another one: what is known of it is forgotten. */
  covered(topic: string, topicId: string): Covered[] {
    const known = this.#db.prepare('SELECT id, topic_id AS topicId FROM topics WHERE name = ?').get(topic);
    if (known && known.topicId !== topicId) this.forget(topic);
    return this.#db
      .prepare(
        'SELECT partition, first, next FROM progress JOIN topics ON topic = id WHERE name = ? ORDER BY partition',
      )
      .all(topic) as Covered[];
  }

  /** Its entries stay in the segments until those are dropped, under a number that no topic has any more. */
  forget(topic: string): void {
    const of = '(SELECT id FROM topics WHERE name = ?)';
    this.#db.prepare(`DELETE FROM progress WHERE topic = ${of}`).run(topic);
    this.#db.prepare(`DELETE FROM starts WHERE topic = ${of}`).run(topic);
    this.#db.prepare('DELETE FROM topics WHERE name = ?').run(topic);
  }

  /** Adds entries of a topic, and moves what is covered on, in one transaction. */
  add(topic: string, topicId: string, entries: readonly Entry[], covered: readonly Covered[]): void {
    this.#changing(() => {
      this.#db.exec('BEGIN');
      this.#db.prepare('INSERT OR IGNORE INTO topics (name, topic_id) VALUES (?, ?)').run(topic, topicId);
      const row = this.#db.prepare('SELECT id FROM topics WHERE name = ?').get(topic) as { id: number };
      this.#segments.add(row.id, entries, covered);
      this.#db.exec('COMMIT');
      this.#segments.shrink();
    });
  }

  /** What fails, as on a full disk, is undone, also in what is known here of the file's tables. */
  #changing(work: () => void): void {
    try {
      work();
    } catch (error) {
      // Of some failures SQLite itself has ended the transaction.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      this.#segments = this.#openSegments();
      throw error;
    }
  }

  /** By topic, what may have this term. */
  find(term: number, latest: number): Hits[] {
    const topics = this.#db.prepare('SELECT id, name FROM topics').all() as { id: number; name: string }[];
    return topics.flatMap(({ id, name }) => {
      const { count, entries } = this.#segments.find(term, id, latest);
      return count > 0 ? [{ topic: name, count, latest: entries }] : [];
    });
  }

  /** Bytes of the file. */
  get bytes(): number {
    return this.#segments.bytes;
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

/** A directory for an index that is removed at the stop. */
export const temporaryIndexDir = (parent = tmpdir()): string =>
  inPlace(parent, () => mkdtempSync(join(parent, 'hookline-console-')));

/** A pod's root is read-only: without this only the system's error would be shown, which does not say what to set. */
function inPlace<T>(dir: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      `${dir}, the directory of the index that Find searches, cannot be used (${code}). Set CONSOLE_INDEX_DIR to a directory that can be written.`,
      { cause: error },
    );
  }
}

function openFile(dir: string): DatabaseSync {
  const path = join(dir, FILE_NAME);
  inPlace(dir, () => {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'a', 0o600));
  });
  try {
    return openDatabase(path);
  } catch (error) {
    const { errcode } = error as { errcode?: number };
    if (errcode === SQLITE_BUSY)
      throw new Error(`${path} is used by another console: give each its own directory`, { cause: error });
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    return openDatabase(path);
  }
}

const SQLITE_BUSY = 5;

function openDatabase(path: string): DatabaseSync {
  closeSync(openSync(path, 'a', 0o600));
  const db = new DatabaseSync(path);
  try {
    db.exec(OPEN_SQL);
    const { user_version: format } = { ...db.prepare('PRAGMA user_version').get() };
    if (Number(format) !== 0 && Number(format) !== FORMAT) throw new Error(`format ${format}`);
    db.exec(CREATE_SQL);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
