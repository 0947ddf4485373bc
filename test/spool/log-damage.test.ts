import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { MAX_COPIES } from '../../src/spool/damaged-copies.ts';
import { FILE_NAME, LOG_NAME } from '../../src/spool/database.ts';
import { hasSpool, Spool } from '../../src/spool/spool.ts';
import { damageText } from '../../src/spool/spool-row.ts';
import { verified } from '../support/delivery-parts.ts';

const ROWS = 20;
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-log-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const inDead = (name: string) => join(dir, 'dead', name);

const open = (name: string) =>
  Spool.open({ clock: systemClock, dir: join(dir, name), maxBytes: 64 * 1024 ** 2, onDeath() {} });

/** Appends rows to a spool, and copies what a process that is killed then leaves of it to `dead`. */
async function killed({ from = 'alive', rows = ROWS, pad = 0 } = {}): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const spool = await open(from);
  stack.defer(() => spool.close());
  for (let n = 1; n <= rows; n++) await spool.append(verified(`{"n":${n}}${' '.repeat(pad)}`));
  cpSync(join(dir, from), join(dir, 'copied'), { recursive: true });
  rmSync(join(dir, 'dead'), { recursive: true, force: true });
  cpSync(join(dir, 'copied'), join(dir, 'dead'), { recursive: true });
  rmSync(join(dir, 'copied'), { recursive: true });
  return inDead(LOG_NAME);
}

async function opened(log: string) {
  const spool = await open('dead');
  const { rows, isDamaged, damagedCopy } = spool.state;
  await spool.close();
  const isKept = damagedCopy === `${log}.damaged` && existsSync(damagedCopy);
  return { rows, isDamaged, isKept };
}

function flipBit(log: string, at: number): void {
  const bytes = readFileSync(log);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(log, bytes);
}

const copies = () => readdirSync(join(dir, 'dead')).filter((name) => name.includes('.damaged'));

describe('the log of a spool', () => {
  it('that is whole is not damaged, nor is one whose end a loss of power has torn', async () => {
    const log = await killed();
    const { length } = readFileSync(log);
    cpSync(join(dir, 'dead'), join(dir, 'kept'), { recursive: true });
    expect(await opened(log)).toEqual({ rows: ROWS, isDamaged: false, isKept: false });
    const again = () => {
      rmSync(join(dir, 'dead'), { recursive: true });
      cpSync(join(dir, 'kept'), join(dir, 'dead'), { recursive: true });
    };
    again();
    truncateSync(log, length - 100);
    expect(await opened(log)).toMatchObject({ rows: ROWS - 1, isDamaged: false });
    again();
    flipBit(log, length - FRAME_BYTES + 500);
    expect(await opened(log)).toMatchObject({ rows: ROWS - 1, isDamaged: false });
  });

  it('is not damaged where a loss of power has torn a header that lies in two sectors', async () => {
    const log = await killed({ rows: 1, pad: 400_000 });
    const bytes = readFileSync(log);
    // The first one whose salts are in another sector than the mark of a transaction's end.
    const at = HEADER_BYTES + 41 * FRAME_BYTES;
    expect([at % 512, bytes.length > at + 2 * FRAME_BYTES]).toEqual([504, true]);
    writeFileSync(log, bytes.fill(0xa5, at, at + 8));
    expect(await opened(log)).toEqual({ rows: 0, isDamaged: false, isKept: false });
  });

  it('is damaged where only one transaction follows, if the salts are in the sector of the mark of the end', async () => {
    const log = await killed({ rows: 70 });
    const at = HEADER_BYTES + 62 * FRAME_BYTES;
    truncateSync(log, at + 2 * FRAME_BYTES);
    const bytes = readFileSync(log);
    const isCommit = (frame: number) => bytes.readUInt32BE(frame + 4) !== 0;
    expect([at % 512, isCommit(at), isCommit(at + FRAME_BYTES)]).toEqual([496, true, true]);
    flipBit(log, at + 1_000);
    expect(await opened(log)).toMatchObject({ isDamaged: true, isKept: true });
  });

  it.each([0.2, 0.5, 0.8])('that is damaged at %d of its length says so, and is kept', async (where) => {
    const log = await killed();
    const bytes = readFileSync(log);
    flipBit(log, Math.floor(bytes.length * where));
    const { rows, isDamaged, isKept } = await opened(log);
    expect(rows).toBeLessThan(ROWS);
    expect([isDamaged, isKept]).toEqual([true, true]);
    expect(readFileSync(`${log}.damaged`).length).toBe(bytes.length);
  });

  it.each([
    ['magic', 0],
    ['version', 7],
    ['page size', 10],
    ['checkpoint sequence', 12],
    ['first salt', 16],
    ['second salt', 23],
    ['first checksum', 24],
    ['second checksum', 31],
  ])('whose header is damaged (%s) says so, and is kept', async (_, at) => {
    const log = await killed();
    flipBit(log, at);
    const damaged = readFileSync(log);
    expect(await opened(log)).toEqual({ rows: 0, isDamaged: true, isKept: true });
    expect(readFileSync(`${log}.damaged`).equals(damaged)).toBe(true);
    // What is appended from now on is not behind the old damage.
    expect(await opened(await killed({ from: 'dead' }))).toMatchObject({ rows: ROWS, isDamaged: false });
  });

  it('whose first sector has only zeros says so, and is kept', async () => {
    const log = await killed();
    writeFileSync(log, readFileSync(log).fill(0, 0, 512));
    expect(await opened(log)).toEqual({ rows: 0, isDamaged: true, isKept: true });
  });

  it.each(['missing', 'empty'])('whose database is %s is kept, and says so', async (how) => {
    const log = await killed();
    const whole = readFileSync(log);
    if (how === 'missing') rmSync(inDead(FILE_NAME));
    else truncateSync(inDead(FILE_NAME));
    expect(hasSpool(join(dir, 'dead'))).toBe(true);
    expect(await opened(log)).toEqual({ rows: 0, isDamaged: true, isKept: true });
    expect(readFileSync(`${log}.damaged`).equals(whole)).toBe(true);
  });

  it('that is damaged is told of by the failure of an opening, which leaves nothing of it to be found', async () => {
    const log = await killed();
    flipBit(log, HEADER_BYTES - 1);
    const damaged = readFileSync(log);
    // Of a newer Hookline: it is examined, and then refused.
    const other = new DatabaseSync(inDead(FILE_NAME));
    other.exec('PRAGMA user_version = 99');
    other.close();
    writeFileSync(log, damaged);
    await expect(open('dead')).rejects.toThrow(
      `deliveries that were answered 200 are lost with it; a copy is in ${log}`,
    );
    expect(existsSync(log)).toBe(false);
  });

  it('that is damaged beside a file that cannot be read is told of by that failure, and kept', async () => {
    const log = await killed();
    flipBit(log, HEADER_BYTES - 1);
    const damaged = readFileSync(log);
    writeFileSync(inDead(FILE_NAME), readFileSync(inDead(FILE_NAME)).fill('x', 0, 100));
    await expect(open('dead')).rejects.toThrow(`are lost with it; a copy is in ${log}.damaged`);
    expect(readFileSync(`${log}.damaged`).equals(damaged)).toBe(true);
  });

  it('that is missing after a stop is not damaged', async () => {
    await (await open('dead')).close();
    expect(existsSync(inDead(LOG_NAME))).toBe(false);
    expect(await opened(inDead(LOG_NAME))).toMatchObject({ isDamaged: false });
  });

  it('that SQLite has removed, as a process ended that did not close the spool, is not damaged', async () => {
    const log = await killed();
    const other = new DatabaseSync(inDead(FILE_NAME));
    other.exec('PRAGMA user_version');
    other.close();
    expect(existsSync(log)).toBe(false);
    expect(await opened(log)).toMatchObject({ rows: ROWS, isDamaged: false });
  });

  it('that SQLite began anew, and a loss of power left without a frame, is not damaged', async () => {
    const log = await killed();
    // Another header than that of the frames, and a right one.
    const other = await killed({ from: 'other', rows: 1 }).then((path) => readFileSync(path));
    const bytes = readFileSync(await killed({ from: 'third' }));
    other.copy(bytes, 0, 0, HEADER_BYTES);
    writeFileSync(log, bytes);
    expect(await opened(log)).toMatchObject({ isDamaged: false });
  });
});

describe('the copies of damaged logs', () => {
  /** As a process that is killed during the next outage leaves it, with damage. */
  async function damagedAgain(rows: number): Promise<Buffer> {
    const log = await killed({ from: existsSync(join(dir, 'dead')) ? 'dead' : 'alive', rows });
    flipBit(log, HEADER_BYTES + FRAME_BYTES + 100);
    return readFileSync(log);
  }

  it('are those of each incident, the last one as .damaged, up to five; then none, and the text says so', async () => {
    const log = inDead(LOG_NAME);
    const incidents: Buffer[] = [];
    for (let n = 0; n < MAX_COPIES; n++) {
      incidents.push(await damagedAgain(ROWS + n));
      expect(await opened(log)).toMatchObject({ isDamaged: true, isKept: true });
      expect(readFileSync(`${log}.damaged`).equals(incidents[n] ?? Buffer.alloc(0))).toBe(true);
    }
    expect(copies()).toHaveLength(MAX_COPIES);
    expect(readFileSync(`${log}.damaged-2`).equals(incidents[0] ?? Buffer.alloc(0))).toBe(true);
    const before = copies().map((name) => readFileSync(inDead(name)));
    await damagedAgain(ROWS);
    const spool = await open('dead');
    expect(spool.state).toMatchObject({ isDamaged: true, damagedCopy: null });
    expect(damageText(spool.state)).toContain('there is no copy of it');
    await spool.close();
    expect(copies().map((name) => readFileSync(inDead(name)))).toEqual(before);
  });

  it('are one for the same content', async () => {
    const bytes = await damagedAgain(ROWS);
    const log = inDead(LOG_NAME);
    expect(await opened(log)).toMatchObject({ isDamaged: true, isKept: true });
    writeFileSync(log, bytes);
    expect(await opened(log)).toMatchObject({ isDamaged: true, isKept: true });
    expect(copies()).toEqual([`${LOG_NAME}.damaged`]);
  });
});
