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
import { keepCopy, moveAside } from './damaged-copies.ts';
import { examineLog } from './log-damage.ts';
import { CREATE_SQL, DROP_SQL, LOCK_SQL, NEW_FILE_SQL, OPEN_SQL, PLAIN, SEALED } from './schema.ts';

/** How long to wait for another owner of the folder to end. */
const LOCK_WAIT_MS = 2_000;
const REWRITE_BYTES = 1024 * 1024;

/**
 * Opens the folder's database, creates it if there is none, and owns it from then on. When this returns, database and
 * folder are on the disk, and no content depends on an earlier sync that failed.
 * @param onDamage called where the log has lost transactions, with the path of a copy if there is one
 * @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING, SPOOL_FULL
 */
export function openDatabase(dir: string, onDamage: (copy: string | null) => void): DatabaseSync {
  const path = join(dir, FILE_NAME);
  const log = join(dir, LOG_NAME);
  let db: DatabaseSync | undefined;
  try {
    makeFolder(dir);
    if (isLogAlone(dir)) onDamage(moveAside(log));
    makePrivate(path);
    db = new DatabaseSync(path, { timeout: LOCK_WAIT_MS });
    db.exec(LOCK_SQL);
    // From here on nobody else writes to the log, and it is still as it was found.
    const { state, end } = examineLog(log);
    const copy = state === 'damaged' ? keepCopy(log) : null;
    if (state === 'damaged') onDamage(copy);
    if (numberOf(db, 'page_count') === 0) db.exec(NEW_FILE_SQL);
    db.exec(OPEN_SQL);
    const format = numberOf(db, 'user_version');
    if (format > SEALED)
      throw new HooklineError('SPOOL_INVALID', `${path}: of a newer Hookline, format ${format}`);
    // Without a copy, what is behind the damage stays as it is.
    const isKept = state !== 'damaged' || copy !== null;
    rewrite(log, isKept && end !== null ? end : Number.POSITIVE_INFINITY);
    // The log's directory entry must be on the disk too before anything is acknowledged.
    syncFolder(dir);
    if (format < PLAIN) db.exec(CREATE_SQL);
    return db;
  } catch (error) {
    const failure = sqliteFailure(error, dir);
    if (db) closeAfterFailure(db, { dir, failure, onDamage });
    throw failure;
  }
}

/**
 * Whether the log has content and the database has none. SQLite deletes such a log, and never makes one: the database's
 * first page is on the disk before the log's first frame. So look at the log first: another process may be making both.
 */
function isLogAlone(dir: string): boolean {
  if (examineLog(join(dir, LOG_NAME)).state === 'empty') return false;
  return (statSync(join(dir, FILE_NAME), { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function closeAfterFailure(
  db: DatabaseSync,
  of: { dir: string; failure: HooklineError; onDamage: (copy: string | null) => void },
): void {
  if (hasCode(of.failure, 'SPOOL_IN_USE')) return db.close();
  const log = join(of.dir, LOG_NAME);
  try {
    // SQLite deletes the log when it closes, also beside a file that it could not read: the next try finds nothing of it.
    if (examineLog(log).state === 'damaged') of.onDamage(keepCopy(log));
  } catch {
    // The first failure is the one to report.
  }
  db.close();
}

const numberOf = (db: DatabaseSync, pragma: string) =>
  Number({ ...db.prepare(`PRAGMA ${pragma}`).get() }[pragma]);

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
 * @param end where zeros begin: what a loss of power has torn there would look like damage behind the next torn transaction
 */
function rewrite(log: string, end: number): void {
  const file = openSync(log, 'r+');
  try {
    const chunk = Buffer.alloc(REWRITE_BYTES);
    const read = (at: number) => chunk.subarray(0, readSync(file, chunk, 0, chunk.length, at));
    let at = 0;
    for (let bytes = read(at); bytes.length > 0; bytes = read(at)) {
      bytes.fill(0, Math.min(bytes.length, Math.max(0, end - at)));
      at += writeSync(file, bytes, 0, bytes.length, at);
    }
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

/**
 * Leaves a file without rows as a new one: an older Hookline opens it then, after a rollback. What fails here leaves the file as
 * it is, as it is closed afterwards.
 */
export function clearFormat(db: DatabaseSync, reserve: Reserve): void {
  try {
    // The next start writes the table again, also on a volume that others have filled by then.
    if (!reserve.isTaken) reserve.take();
    db.exec('BEGIN IMMEDIATE');
    if (db.prepare('SELECT 1 FROM deliveries LIMIT 1').get() === undefined) db.exec(DROP_SQL);
    db.exec('COMMIT');
  } catch {
    // Nothing depends on it.
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
