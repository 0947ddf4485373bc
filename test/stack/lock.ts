import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { waitUntil } from './wait-until.ts';

export type LockOptions = { deadlineMs: number; signal: AbortSignal; onWait: () => void };

/**
 * Runs the work while no other process runs one under the same file. The lock is SQLite's on that file, so it is the
 * system's: it goes with the process that holds it, however that ends, and there is no stale one to break.
 */
export async function underLock<T>(file: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const lock = new DatabaseSync(file, { timeout: 0 });
  let waits = false;
  try {
    await waitUntil(
      'Another process is still at the same',
      async () => {
        if (tryLock(lock)) return true;
        if (!waits) options.onWait();
        waits = true;
        return 'It may hang: end it and try again.';
      },
      { ...options, everyMs: 100 },
    );
    return await work();
  } finally {
    lock.close();
  }
}

const SQLITE_BUSY = 5;

function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
