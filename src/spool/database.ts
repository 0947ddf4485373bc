import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ErrorCode, HooklineError, hasCode } from '../core/errors.ts';

/** How long another owner of the folder may take to end. */
const LOCK_WAIT_MS = 2_000;
const REWRITE_BYTES = 1024 * 1024;

/**
 * Opens the folder's database, makes it where there is none, and owns it from then on. When this returns, it is on the
 * disk with its folder, and nothing in it hangs on a sync that failed before.
 * @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING, SPOOL_FULL
 */
export function openDatabase(dir: string): DatabaseSync {
  const path = join(dir, FILE_NAME);
  let db: DatabaseSync | undefined;
  try {
    makeFolder(dir);
    makePrivate(path);
    db = new DatabaseSync(path, { timeout: LOCK_WAIT_MS });
    db.exec(OPEN_SQL);
    const { user_version: format } = { ...db.prepare('PRAGMA user_version').get() };
    if (Number(format) > SEALED)
      throw new HooklineError('SPOOL_INVALID', `${path}: of a newer Hookline, format ${format}`);
    rewrite(join(dir, LOG_NAME));
    // The log's entry too must be on the disk before anything is acknowledged.
    syncFolder(dir);
    if (Number(format) < PLAIN) db.exec(CREATE_SQL);
    return db;
  } catch (error) {
    db?.close();
    throw sqliteFailure(error, dir);
  }
}

/** A folder that was made outlasts a loss of power when its entry in its parent is synced, and so on upwards. */
function makeFolder(dir: string): void {
  const first = mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(dir); made.length >= resolve(first).length; made = dirname(made))
    syncFolder(dirname(made));
}

/** Only its owner may read it: it holds what was received. SQLite would let others; the log takes its mode from it. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

/**
 * Writes the log over with its own bytes. A sync that failed, in this process or an earlier one, leaves what it should
 * have written in the page cache, counted as clean: SQLite reads it there and takes it for stored, while no later sync
 * brings it to the disk, and every commit that came behind it would go with it at a loss of power. The database is
 * owned by now, so that nobody else writes here.
 */
function rewrite(log: string): void {
  const file = openSync(log, 'r+');
  try {
    const piece = Buffer.alloc(REWRITE_BYTES);
    const read = (at: number) => piece.subarray(0, readSync(file, piece, 0, piece.length, at));
    let at = 0;
    for (let bytes = read(at); bytes.length > 0; bytes = read(at))
      at += writeSync(file, bytes, 0, bytes.length, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(dir: string): void {
  const folder = openSync(dir, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** The spool's file: one table, a row for each delivery as it was received. */

export const FILE_NAME = 'spool.sqlite';
/** SQLite's name for its write-ahead log. */
export const LOG_NAME = `${FILE_NAME}-wal`;
export const PAGE_BYTES = 4_096;

/** Formats of the file. One with a higher format was written by a newer Hookline. */
export const PLAIN = 1;
/** Each row has a checksum, or a seal of an earlier time. */
export const CHECKSUMS = 2;
/** Each row is sealed: one that is not was changed. */
export const SEALED = 3;

/**
 * EXCLUSIVE holds the file's lock for as long as the process lives: a folder has one owner, and kill -9 sets it free.
 * It also keeps the index of the write-ahead log in memory, so that no shared memory is needed of the volume; for that
 * it must be said before anything looks into the file.
 * FULL syncs the log at each commit: in WAL mode that is what makes a commit outlast a loss of power.
 */
const OPEN_SQL = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA page_size = ${PAGE_BYTES};
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 256;
  PRAGMA journal_size_limit = 1048576;
`;

const CREATE_SQL = `
  BEGIN IMMEDIATE;
  CREATE TABLE IF NOT EXISTS deliveries (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    media_type TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    traceparent TEXT,
    key_id TEXT,
    proof BLOB,
    body BLOB NOT NULL
  ) STRICT;
  PRAGMA user_version = ${CHECKSUMS};
  COMMIT;
`;

/** What the format 1 has not. */
export const ADD_COLUMNS_SQL = `
  BEGIN IMMEDIATE;
  ALTER TABLE deliveries ADD COLUMN key_id TEXT;
  ALTER TABLE deliveries ADD COLUMN proof BLOB;
  COMMIT;
`;

/** A row as it is read. A time that no number holds would be an error of the driver; a changed one is found by its proof. */
export const COLUMNS_SQL = `id, ref, subscription_id AS subscriptionId, media_type AS mediaType,
  max(-9007199254740991, min(9007199254740991, received_at)) AS receivedAt, traceparent, key_id AS keyId, proof, body`;

export const INSERT_SQL = `
  INSERT INTO deliveries (id, ref, subscription_id, media_type, received_at, traceparent, key_id, proof, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
`;

/** SQLite's primary result codes (sqlite.org/rescode.html) whose meaning differs from "the disk fails". */
const CODES: Readonly<Record<number, ErrorCode>> = {
  5: 'SPOOL_IN_USE', // BUSY
  11: 'SPOOL_INVALID', // CORRUPT
  13: 'SPOOL_FULL', // FULL
  26: 'SPOOL_INVALID', // NOTADB
};

/** What a failure of the spool's file means. The extended codes carry the primary one in their last byte. */
export function sqliteFailure(error: unknown, dir: string): HooklineError {
  if (error instanceof HooklineError) return error;
  const { errcode, code, message } = error as { errcode?: number; code?: string; message?: string };
  const meaning = errcode === undefined ? undefined : CODES[errcode & 0xff];
  if (code === 'ENOSPC') return new HooklineError('SPOOL_FULL', dir, { cause: error });
  return new HooklineError(meaning ?? 'SPOOL_FAILING', `${dir}: ${message}`, { cause: error });
}

/** What a removal writes, and the pages of the log that go into the table after it, a few times over. */
export const RESERVE_BYTES = 4 * 1024 * 1024;
export const RESERVE_NAME = 'spool.reserve';

/**
 * Room on the volume that is taken beforehand. What is taken out of the spool is written too: on a disk that others
 * have filled to its last byte nothing could be taken out any more, and the spool would stay in use with Kafka back.
 */
export class Reserve {
  readonly #path: string;

  constructor(dir: string) {
    this.#path = join(dir, RESERVE_NAME);
  }

  get isTaken(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  /** @throws HooklineError SPOOL_FULL, SPOOL_FAILING */
  take(): void {
    try {
      writeFileSync(this.#path, Buffer.alloc(RESERVE_BYTES), { mode: 0o600 });
    } catch (error) {
      rmSync(this.#path, { force: true });
      throw sqliteFailure(error, this.#path);
    }
  }

  /** Does `work`, and where the disk is too full for it, does it again with the space of the reserve. */
  lend<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!hasCode(error, 'SPOOL_FULL') || !this.isTaken) throw error;
      rmSync(this.#path, { force: true });
      return work();
    }
  }
}
