import { closeSync, constants, copyFileSync, openSync, readSync } from 'node:fs';
import { PAGE_BYTES } from './database.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
/** The lowest bit says in which order the checksums read their words. */
const MAGIC = 0x377f0682;

/**
 * Whether transactions stand behind damage in the write-ahead log. SQLite recovers what is in front of the first frame
 * that is not valid, and says nothing of the rest. Each transaction is synced before the next one begins: what a loss of
 * power tears is the last one, which nobody was told of, and no other stands behind it.
 * The format: https://sqlite.org/fileformat2.html#the_write_ahead_log
 */
export function isLogDamaged(log: string): boolean {
  const file = openLog(log);
  if (file === null) return false;
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false;
    const magic = header.readUInt32BE(0);
    if ((magic & ~1) !== MAGIC || header.readUInt32BE(8) !== PAGE_BYTES) return false;
    return hasTransactionsBehindDamage(file, header, (magic & 1) === 1);
  } finally {
    closeSync(file);
  }
}

/** Keeps a copy of the log, unless there is one of an earlier start; SQLite overwrites it. */
export function keepCopy(log: string): void {
  try {
    copyFileSync(log, `${log}.damaged`, constants.COPYFILE_EXCL);
  } catch {
    // No space, or there is one: what can be read is to be published all the same.
  }
}

function openLog(log: string): number | null {
  try {
    return openSync(log, 'r');
  } catch {
    return null;
  }
}

function hasTransactionsBehindDamage(file: number, header: Buffer, isBigEndian: boolean): boolean {
  const salts = header.subarray(16, 24);
  const frame = Buffer.alloc(FRAME_BYTES);
  let sums: Sums = [header.readUInt32BE(24), header.readUInt32BE(28)];
  let isBad = false;
  /** A transaction has ended behind the damage, or with it. */
  let isOver = false;
  for (let at = HEADER_BYTES; readSync(file, frame, 0, FRAME_BYTES, at) === FRAME_BYTES; at += FRAME_BYTES) {
    const isOurs = frame.subarray(8, 16).equals(salts);
    if (!isBad) {
      sums = sumOf(
        frame.subarray(FRAME_HEADER_BYTES),
        sumOf(frame.subarray(0, 8), sums, isBigEndian),
        isBigEndian,
      );
      isBad = !isOurs || frame.readUInt32BE(16) !== sums[0] || frame.readUInt32BE(20) !== sums[1];
      if (isBad) isOver = isOurs && isCommit(frame);
    } else if (isOurs) {
      if (isOver) return true;
      isOver = isCommit(frame);
    }
  }
  return false;
}

/** The last frame of a transaction has the size of the database. */
const isCommit = (frame: Buffer): boolean => frame.readUInt32BE(4) !== 0;

type Sums = [number, number];

function sumOf(bytes: Buffer, [first, second]: Sums, isBigEndian: boolean): Sums {
  let [a, b] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) >>> 0;
    b = (b + (isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) >>> 0;
  }
  return [a, b];
}
