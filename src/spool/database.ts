import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HooklineError } from '../core/errors.ts';
import { CREATE_SQL, FILE_NAME, LOG_NAME, OPEN_SQL, PLAIN, SEALED } from './spool-schema.ts';
import { sqliteFailure } from './sqlite-failure.ts';

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
