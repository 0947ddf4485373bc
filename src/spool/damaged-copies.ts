import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';

/** Copies that are kept: of the last incident, and of four before it. */
export const MAX_COPIES = 5;
const CHUNK_BYTES = 1024 * 1024;

const lastOf = (log: string) => `${log}.damaged`;
const earlierOf = (log: string) =>
  Array.from({ length: MAX_COPIES - 1 }, (_, n) => `${lastOf(log)}-${n + 2}`);

/**
 * Keeps a copy of a damaged log, as SQLite overwrites it; of the same content one is enough.
 * @returns where the copy is, or null: there is no space for it, or there are as many as are kept
 */
export function keepCopy(log: string): string | null {
  const last = lastOf(log);
  const same = [last, ...earlierOf(log)].find((copy) => isSame(copy, log));
  if (same !== undefined) return same;
  if (!isFree(log)) return null;
  try {
    copyFileSync(log, last);
    sync(last);
    return last;
  } catch {
    // What can be read is to be published all the same.
    rmSync(last, { force: true });
    return null;
  }
}

/**
 * Moves a log away that SQLite would delete.
 * @returns where it is, or null: there are as many copies as are kept, and SQLite deletes it
 */
export function moveAside(log: string): string | null {
  if (!isFree(log)) return null;
  renameSync(log, lastOf(log));
  return lastOf(log);
}

/** Whether the name of the last copy is free, or was made free: the one before gets the first other name. */
function isFree(log: string): boolean {
  const last = lastOf(log);
  if (!existsSync(last)) return true;
  const earlier = earlierOf(log).find((copy) => !existsSync(copy));
  if (earlier === undefined) return false;
  renameSync(last, earlier);
  return true;
}

function isSame(copy: string, log: string): boolean {
  const { size } = statSync(log);
  if (statSync(copy, { throwIfNoEntry: false })?.size !== size) return false;
  const files = [openSync(copy, 'r'), openSync(log, 'r')];
  try {
    const chunks = files.map(() => Buffer.alloc(CHUNK_BYTES));
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      const [a, b] = files.map((file, n) => readAt(file, chunks[n] ?? Buffer.alloc(0), at));
      if (!a || !b?.equals(a)) return false;
    }
    return true;
  } finally {
    for (const file of files) closeSync(file);
  }
}

const readAt = (file: number, chunk: Buffer, at: number) =>
  chunk.subarray(0, readSync(file, chunk, 0, chunk.length, at));

function sync(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
