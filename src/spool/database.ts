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

/** How long to wait for another owner of the folder to end. */
const LOCK_WAIT_MS = 2_000;
const REWRITE_BYTES = 1024 * 1024;

/**
 * Opens the folder's database, creates it if there is none, and owns it from then on. When this returns, database and
 * folder are on the disk, and no content depends on an earlier sync that failed.
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
    // The log's directory entry must be on the disk too before anything is acknowledged.
    syncFolder(dir);
    if (Number(format) < PLAIN) db.exec(CREATE_SQL);
    return db;
  } catch (error) {
    db?.close();
    throw sqliteFailure(error, dir);
  }
}

/** A new folder survives a loss of power only if its entry in its parent is synced, and so on upwards. */
function makeFolder(dir: string): void {
  const first = mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(dir); made.length >= resolve(first).length; made = dirname(made))
    syncFolder(dirname(made));
}

/** Only the owner may read the file: it has received bodies. SQLite gives its log the same mode. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

/**
 * Overwrites the log with its own bytes. After a failed sync, in this process or an earlier one, the kernel keeps the
 * unwritten pages in its page cache and marks them clean: SQLite reads them as if they were stored, but no later sync
 * writes them, and a loss of power would lose them and every later commit. The database is locked by now, so nobody
 * else writes here.
 */
function rewrite(log: string): void {
  const file = openSync(log, 'r+');
  try {
    const chunk = Buffer.alloc(REWRITE_BYTES);
    const read = (at: number) => chunk.subarray(0, readSync(file, chunk, 0, chunk.length, at));
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

export const FILE_NAME = 'spool.sqlite';
/** SQLite's name for its write-ahead log. */
export const LOG_NAME = `${FILE_NAME}-wal`;
export const PAGE_BYTES = 4_096;

/** Formats of the file. A higher one was written by a newer Hookline. */
export const PLAIN = 1;
/** Each row has a checksum, or a seal from a time with a sealing key. */
export const CHECKSUMS = 2;
/** Each row is sealed: a row without a seal was changed. */
export const SEALED = 3;

/**
 * EXCLUSIVE keeps the file's lock while the process lives: a folder has one owner, and kill -9 releases it. It also keeps
 * the index of the write-ahead log in memory, so that the volume needs no shared memory; for that it must be the first
 * statement.
 * FULL syncs the log at each commit: in WAL mode a commit survives a loss of power only with it.
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

/** One table, with a row for each delivery as it was received. */
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

/** The columns that format 1 does not have. */
export const ADD_COLUMNS_SQL = `
  BEGIN IMMEDIATE;
  ALTER TABLE deliveries ADD COLUMN key_id TEXT;
  ALTER TABLE deliveries ADD COLUMN proof BLOB;
  COMMIT;
`;

/** A row as it is read. The driver throws at an integer beyond 2^53, so a changed time is limited; its proof shows the change. */
export const COLUMNS_SQL = `id, ref, subscription_id AS subscriptionId, media_type AS mediaType,
  max(-9007199254740991, min(9007199254740991, received_at)) AS receivedAt, traceparent, key_id AS keyId, proof, body`;

export const INSERT_SQL = `
  INSERT INTO deliveries (id, ref, subscription_id, media_type, received_at, traceparent, key_id, proof, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
`;

/** Of the rows from an id on: how many were received from one time to another, and the first that is younger. */
export const COUNT_LATE_SQL = `
  SELECT total(received_at >= ? AND received_at < ?) AS late, min(CASE WHEN received_at >= ? THEN id END) AS next
  FROM deliveries WHERE id >= ?
`;

/** SQLite's primary result codes (sqlite.org/rescode.html) that mean anything else than a failing disk. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  5: 'SPOOL_IN_USE', // BUSY
  11: 'SPOOL_INVALID', // CORRUPT
  13: 'SPOOL_FULL', // FULL
  26: 'SPOOL_INVALID', // NOTADB
};

/** The HooklineError of a failure of the spool's file. Extended codes have the primary one in their last byte. */
export function sqliteFailure(error: unknown, dir: string): HooklineError {
  if (error instanceof HooklineError) return error;
  const { errcode, code, message } = error as { errcode?: number; code?: string; message?: string };
  const meaning = errcode === undefined ? undefined : CODES[errcode & 0xff];
  if (code === 'ENOSPC') return new HooklineError('SPOOL_FULL', dir, { cause: error });
  return new HooklineError(meaning ?? 'SPOOL_FAILING', `${dir}: ${message}`, { cause: error });
}

/** Several times what a removal writes, with the pages of the log that go into the table after it. */
export const RESERVE_BYTES = 4 * 1024 * 1024;
export const RESERVE_NAME = 'spool.reserve';

/**
 * Space on the volume that is reserved in advance. A removal from the spool writes too: on a disk that others have filled
 * completely no row could be removed, and the spool could not be drained after Kafka is available again.
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

  /** Does `work`. If the disk is too full for it, releases the reserve and does it again. */
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

/** Pages that one step of a vacuum frees: SQLite writes as much into the log first, and the reserve must suffice for it. */
const VACUUM_PAGES = 512;

/** Returns free pages to the disk. */
export function vacuum(db: DatabaseSync, freePages: number, dir: string): void {
  try {
    for (let left = freePages; left > 0; left -= VACUUM_PAGES) {
      db.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    }
  } catch (error) {
    throw sqliteFailure(error, dir);
  }
}
