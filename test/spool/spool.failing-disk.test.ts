import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { Spool } from '../../src/spool/spool.ts';
import type { SpoolAnswer, SpoolRequest } from '../../src/spool/spool-row.ts';
import { verified } from '../support/delivery-parts.ts';
import { manualClock } from '../support/manual-clock.ts';

const MIB = 1024 ** 2;
const ALL = { maxRows: 1_000, maxBytes: MIB };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = () => Spool.open({ clock: systemClock, dir, maxBytes: 64 * MIB, onDeath() {} });
const bodies = async (spool: Spool) => (await spool.read(ALL)).map(({ delivery }) => String(delivery.body));
const row = (n: number) => verified(`{"n":${n}}`);

describe('the spool', () => {
  const log = () => join(dir, 'spool.sqlite-wal');
  it.each([
    [
      'a file that was deleted',
      'spool.sqlite was deleted or replaced',
      () => readdirSync(dir).map((file) => rmSync(join(dir, file))),
    ],
    [
      'a folder that was replaced',
      'spool.sqlite was deleted or replaced',
      () => {
        renameSync(dir, `${dir}-old`);
        mkdirSync(dir);
      },
    ],
    ['a log that alone was deleted', 'spool.sqlite-wal was deleted or replaced', () => rmSync(log())],
    ['a log that was emptied', 'spool.sqlite-wal was cut short', () => truncateSync(log())],
    ['a log that was cut short', 'spool.sqlite-wal was cut short', () => truncateSync(log(), 12_000)],
    [
      'a log that alone was replaced',
      'spool.sqlite-wal was deleted or replaced',
      () => {
        renameSync(log(), `${log()}-old`);
        writeFileSync(log(), '');
      },
    ],
  ])('stores nothing in %s, and publishes what that had', async (_, what, harm) => {
    const spool = await open();
    await spool.append(row(1));
    harm();
    await expect(spool.append(row(2))).rejects.toThrow(what);
    const [first, ...others] = await spool.read(ALL);
    expect([String(first?.delivery.body), others]).toEqual(['{"n":1}', []]);
    await spool.remove([first?.id ?? 0]);
    await expect(spool.append(row(3))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    await spool.append(row(4));
    expect(await bodies(spool)).toEqual(['{"n":4}']);
    await spool.close();
    const again = await open();
    expect(await bodies(again)).toEqual(['{"n":4}']);
    await again.close();
    rmSync(`${dir}-old`, { recursive: true, force: true });
  });

  it('takes nothing more for a disk that does not answer, and says so', async () => {
    const clock = manualClock();
    const answers: (() => void)[] = [];
    const thread = {
      isEnded: false,
      call: ({ kind }: SpoolRequest) =>
        new Promise<SpoolAnswer>((resolve) =>
          kind === 'open' ? resolve({}) : answers.push(() => resolve({})),
        ),
      async close() {},
      async terminate() {},
    };
    const spool = await Spool.open({
      clock,
      dir,
      maxBytes: MIB,
      onDeath() {},
      startThread: () => thread as never,
    });
    const waiting = [spool.append(row(1)), spool.append(row(2))];
    await clock.advance(9_000);
    expect(spool.trouble).toBeNull();
    await clock.advance(1_500);
    expect(spool.trouble).toContain('its disk does not answer');
    await expect(spool.append(row(3))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    expect(spool.outstanding).toBe(2);
    for (const answer of answers) answer();
    await Promise.all(waiting);
    expect(spool.trouble).toBeNull();
    expect(spool.outstanding).toBe(0);
    await spool.close();
  });
});
