import { closeSync, openSync, readSync } from 'node:fs';

const HEADER_BYTES = 32;
/** Of the header, the bytes that its checksum covers. */
const SUMMED_BYTES = 24;
const FRAME_HEADER_BYTES = 24;
/** Of it, those up to the end of the salts; checksums follow. */
const SALTED_BYTES = 16;
/** What a disk writes as a whole. */
const SECTOR_BYTES = 512;
/** The lowest bit says in which order the checksums read their words. */
const MAGIC = 0x377f0682;

/**
 * What the write-ahead log is to SQLite. `empty`: there is none, or no whole frame in it. `damaged`: SQLite says nothing
 * and recovers only what is in front of the damage; all of it is behind a damaged header.
 */
export type LogState = 'empty' | 'sound' | 'damaged';

/** @property end the offset behind the last transaction that SQLite recovers; null where it does not read the frames */
export type ExaminedLog = { readonly state: LogState; readonly end: number | null };

/**
 * Looks for damage that no loss of power explains. SQLite syncs a header before the first frame behind it, and writes it
 * within one sector: with frames behind it, it is the old one or the new one. Each transaction is synced before the next
 * one begins: what a loss of power tears is the last one, which nobody was told of, and no other stands behind it.
 * The format: https://sqlite.org/fileformat2.html#the_write_ahead_log
 */
export function examineLog(log: string): ExaminedLog {
  const file = openLog(log);
  if (file === null) return { state: 'empty', end: null };
  try {
    // A byte more: whether anything stands behind the header.
    const start = Buffer.alloc(HEADER_BYTES + 1);
    if (readSync(file, start, 0, start.length, 0) < start.length) return { state: 'empty', end: null };
    const header = start.subarray(0, HEADER_BYTES);
    return isSound(header) ? examineFrames(file, header) : { state: 'damaged', end: null };
  } finally {
    closeSync(file);
  }
}

function openLog(log: string): number | null {
  try {
    return openSync(log, 'r');
  } catch {
    return null;
  }
}

const isBigEndian = (header: Buffer): boolean => (header.readUInt32BE(0) & 1) === 1;

/** Whether SQLite accepts it. */
function isSound(header: Buffer): boolean {
  const pageBytes = header.readUInt32BE(8);
  const isPageSize = pageBytes >= 512 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
  if ((header.readUInt32BE(0) & ~1) !== MAGIC || !isPageSize) return false;
  const [first, second] = sumOf(header.subarray(0, SUMMED_BYTES), [0, 0], isBigEndian(header));
  return first === header.readUInt32BE(24) && second === header.readUInt32BE(28);
}

function examineFrames(file: number, header: Buffer): ExaminedLog {
  const isBig = isBigEndian(header);
  const salts = header.subarray(16, 24);
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + header.readUInt32BE(8));
  let sums: Sums = [header.readUInt32BE(24), header.readUInt32BE(28)];
  let isBad = false;
  /** A transaction has ended behind the damage, or with it. */
  let isOver = false;
  let at = HEADER_BYTES;
  let end = at;
  for (; readSync(file, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    const isOurs = frame.subarray(8, 16).equals(salts);
    const summed = sumOf(frame.subarray(FRAME_HEADER_BYTES), sumOf(frame.subarray(0, 8), sums, isBig), isBig);
    // Behind damage, what was there before a torn frame may look like its header: it goes on from the frame before it.
    sums = [frame.readUInt32BE(16), frame.readUInt32BE(20)];
    const isWhole = isOurs && summed[0] === sums[0] && summed[1] === sums[1];
    if (!isBad) {
      isBad = !isWhole;
      if (isBad) isOver = isOurs && isMarkTrue(at) && isCommit(frame);
      else if (isCommit(frame)) end = at + frame.length;
    } else if (isWhole) {
      if (isOver) return { state: 'damaged', end };
      isOver = isCommit(frame);
    }
  }
  return { state: at === HEADER_BYTES ? 'empty' : 'sound', end };
}

/** The last frame of a transaction has the size of the database. */
const isCommit = (frame: Buffer): boolean => frame.readUInt32BE(4) !== 0;

/**
 * Whether a header with our salts has its own mark of a transaction's end. Where that is in the sector before the salts, the disk
 * may have the second one, and of the first one what lay there before.
 */
const isMarkTrue = (at: number): boolean => at % SECTOR_BYTES <= SECTOR_BYTES - SALTED_BYTES;

type Sums = [number, number];

function sumOf(bytes: Buffer, [first, second]: Sums, isBig: boolean): Sums {
  let [a, b] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) >>> 0;
    b = (b + (isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) >>> 0;
  }
  return [a, b];
}
