import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { LOG_NAME } from '../../src/spool/database.ts';
import { Spool } from '../../src/spool/spool.ts';
import { verified } from '../support/delivery-parts.ts';

const ROWS = 20;
const FRAME_BYTES = 24 + 4_096;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-log-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = (name: string) =>
  Spool.open({ clock: systemClock, dir: join(dir, name), maxBytes: 64 * 1024 ** 2, onDeath() {} });

/** What a process that was killed has left: twenty transactions in the log. */
async function killed(): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const spool = await open('alive');
  stack.defer(() => spool.close());
  for (let n = 1; n <= ROWS; n++) await spool.append(verified(`{"n":${n}}`));
  cpSync(join(dir, 'alive'), join(dir, 'dead'), { recursive: true });
  return join(dir, 'dead', LOG_NAME);
}

async function opened(log: string) {
  const spool = await open('dead');
  const { rows, isDamaged } = spool.state;
  await spool.close();
  return { rows, isDamaged, isKept: existsSync(`${log}.damaged`) };
}

function flipBit(log: string, at: number): void {
  const bytes = readFileSync(log);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(log, bytes);
}

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

  it.each([0.2, 0.5, 0.8])('that is damaged at %d of its length says so, and is kept', async (where) => {
    const log = await killed();
    const bytes = readFileSync(log);
    flipBit(log, Math.floor(bytes.length * where));
    const { rows, isDamaged, isKept } = await opened(log);
    expect(rows).toBeLessThan(ROWS);
    expect([isDamaged, isKept]).toEqual([true, true]);
    expect(readFileSync(`${log}.damaged`).length).toBe(bytes.length);
  });
});
