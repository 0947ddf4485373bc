import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { Spool } from '../../src/spool/spool.ts';
import { LATE_AFTER_MS } from '../../src/spool/spool-row.ts';
import { verified } from '../support/delivery-parts.ts';
import { until } from '../support/until.ts';

const MIB = 1024 ** 2;
const ALL = { maxRows: 1_000_000, maxBytes: 1_000 * MIB };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = (maxBytes = 64 * MIB, clock = systemClock) =>
  Spool.open({
    clock,
    dir,
    maxBytes,
    onDeath: (error) => {
      throw error;
    },
  });

const bodies = async (spool: Spool) => (await spool.read(ALL)).map(({ delivery }) => String(delivery.body));
const row = (n: number) => verified(`{"n":${n}}`);

describe('the spool', () => {
  it('keeps deliveries as they were received, in order, over a restart', async () => {
    const sealed = { ...verified(Buffer.from([0, 255, 10, 13]), 'octet-stream'), traceparent: '00-ab-cd-01' };
    let spool = await open();
    await Promise.all([spool.append(row(1)), spool.append(sealed), spool.append(row(3))]);
    expect(spool.state).toMatchObject({ rows: 3, oldestAt: row(1).receivedAt });
    await spool.close();
    spool = await open();
    expect(spool.state.rows).toBe(3);
    const found = await spool.read(ALL);
    expect(found.map(({ delivery }) => delivery)).toEqual([row(1), sealed, row(3)]);
    await spool.remove(found.slice(0, 2).map(({ id }) => id));
    expect(await bodies(spool)).toEqual(['{"n":3}']);
    await spool.append(row(4));
    expect(await bodies(spool)).toEqual(['{"n":3}', '{"n":4}']);
    expect(spool.outstanding).toBe(2);
    await spool.close();
  });

  it('tells the age of the head of the queue, not the least of all its ages', async () => {
    await using spool = disposable(await open());
    for (const receivedAt of [2_000, 1_000, 3_000]) await spool.append({ ...row(1), receivedAt });
    expect(spool.state.oldestAt).toBe(2_000);
    const [head] = await spool.read({ maxRows: 1, maxBytes: MIB });
    await spool.remove([head?.id ?? 0]);
    expect(spool.state.oldestAt).toBe(1_000);
  });

  it('reads no more than was asked for, but always the oldest', async () => {
    await using spool = disposable(await open());
    for (let n = 0; n < 5; n++) await spool.append(verified(String(n).repeat(1_000)));
    expect(await spool.read({ maxRows: 2, maxBytes: MIB })).toHaveLength(2);
    expect(await spool.read({ maxRows: 9, maxBytes: 3_500 })).toHaveLength(3);
    expect(await spool.read({ maxRows: 9, maxBytes: 10 })).toHaveLength(1);
    const [first, second] = await spool.read(ALL);
    expect((await spool.read({ maxRows: 1, maxBytes: MIB, after: first?.id ?? 0 }))[0]).toEqual(second);
  });

  it('reads up to a body that is longer than was asked for', async () => {
    await using spool = disposable(await open());
    for (const bytes of [10, 1_000, 10]) await spool.append(verified('x'.repeat(bytes)));
    const limits = { maxRows: 9, maxBytes: MIB, maxRowBytes: 999 };
    const [first, ...none] = await spool.read(limits);
    expect(none).toEqual([]);
    const second = (first?.id ?? 0) + 1;
    expect(await spool.read({ ...limits, after: first?.id ?? 0 })).toEqual([]);
    expect(await spool.read({ ...limits, after: second })).toHaveLength(1);
    expect(await spool.read({ maxRows: 1, maxBytes: 0, after: first?.id ?? 0 })).toMatchObject([
      { id: second },
    ]);
  });

  it('has one owner; its files are for their owner alone', async () => {
    const first = await open();
    await first.append(row(1));
    await expect(open()).rejects.toMatchObject({ code: 'SPOOL_IN_USE' });
    for (const file of readdirSync(dir)) expect(statSync(join(dir, file)).mode & 0o077).toBe(0);
    await first.append(row(2));
    await first.close();
    await using second = disposable(await open());
    expect(await bodies(second)).toEqual(['{"n":1}', '{"n":2}']);
    // No shared memory: a volume over the network may have none.
    expect(readdirSync(dir).sort()).toEqual(['spool.reserve', 'spool.sqlite', 'spool.sqlite-wal']);
  });

  it('is full at SPOOL_MAX_BYTES, keeps what it has, and has room again when some is taken out', async () => {
    await using spool = disposable(await open(MIB));
    const big = verified('x'.repeat(300_000));
    await spool.append(big);
    await spool.append(big);
    await expect(spool.append(verified('y'.repeat(600_000)))).rejects.toMatchObject({ code: 'SPOOL_FULL' });
    expect(spool.trouble).toContain('spool is full');
    expect(spool.state.bytes).toBeLessThanOrEqual(MIB);
    const [oldest] = await spool.read(ALL);
    expect(spool.trouble).toContain('spool is full');
    await spool.remove([oldest?.id ?? 0]);
    await spool.append(verified('y'.repeat(600_000)));
    expect(spool.trouble).toBeNull();
    expect(spool.state.rows).toBe(2);
  });

  it('takes of those that come together as many as there is room for', async () => {
    await using spool = disposable(await open(MIB));
    const answers = await Promise.allSettled(
      Array.from({ length: 16 }, (_, n) => spool.append(verified(String(n).repeat(100_000)))),
    );
    const stored = answers.filter(({ status }) => status === 'fulfilled').length;
    expect(stored).toBeGreaterThan(4);
    expect(stored).toBeLessThan(11);
    expect(spool.state.rows).toBe(stored);
  });

  it('answers a file that was spoilt under it as a disk that fails, until it is well again', async () => {
    await using spool = disposable(await open());
    // More than SQLite keeps in memory.
    await spool.append(verified('x'.repeat(4 * MIB)));
    for (const file of ['spool.sqlite', 'spool.sqlite-wal'].map((name) => join(dir, name)))
      writeFileSync(file, 'x'.repeat(statSync(file).size), { flag: 'r+' });
    await expect(spool.read(ALL)).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    await expect(spool.append(row(2))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    for (const file of readdirSync(dir)) rmSync(join(dir, file));
    await until('it is well again', () => spool.trouble === null);
    await spool.append(row(3));
  });

  it('counts each row that waits too long once, over removals and reopenings, and what is there at the start', async () => {
    const at = (receivedAt: number) => ({ ...row(1), receivedAt });
    const spool = await open();
    const late = async (before: number) => {
      await spool.countLate(before);
      return spool.state.late;
    };
    // The second came slowly: it was received before the first, and stored after it.
    for (const receivedAt of [2_000, 1_000, 3_000]) await spool.append(at(receivedAt));
    // A clock that goes back counts nothing again.
    expect([await late(1_000), await late(1_001), await late(10), await late(1_500)]).toEqual([0, 1, 1, 1]);
    await spool.append(at(4_000));
    const [first] = await spool.read(ALL);
    await spool.remove([first?.id ?? 0]);
    expect([await late(2_500), await late(3_500), await late(3_500)]).toEqual([1, 2, 2]);
    expect([await late(9_000), await late(9_000)]).toEqual([3, 3]);
    await spool.append(at(8_000));
    await spool.append(at(9_500));
    await spool.close();
    const clock = { ...systemClock, wall: () => 9_000 + LATE_AFTER_MS };
    await using next = disposable(await open(64 * MIB, clock));
    expect(next.state).toMatchObject({ rows: 5, late: 4 });
  });

  it('gives the disk back when it is empty again', async () => {
    const spool = await open();
    for (let n = 0; n < 20; n++) await spool.append(verified('x'.repeat(MIB / 2)));
    await spool.remove((await spool.read(ALL)).map(({ id }) => id));
    expect(spool.state).toMatchObject({ rows: 0, bytes: 0, oldestAt: null, keyMissing: 0 });
    await spool.close();
    const files = readdirSync(dir).filter((file) => file !== 'spool.reserve');
    const left = files.reduce((bytes, file) => bytes + statSync(join(dir, file)).size, 0);
    expect(left).toBeLessThan(100_000);
  });

  it('refuses a file that it can not read, and one of a newer Hookline', async () => {
    writeFileSync(
      join(dir, 'spool.sqlite'),
      'this is no database, and it is long enough to be looked at closely',
    );
    await expect(open()).rejects.toMatchObject({ code: 'SPOOL_INVALID' });
    rmSync(join(dir, 'spool.sqlite'));
    const newer = new DatabaseSync(join(dir, 'spool.sqlite'));
    newer.exec('PRAGMA user_version = 4');
    newer.close();
    await expect(open()).rejects.toMatchObject({
      code: 'SPOOL_INVALID',
      message: expect.stringContaining('newer'),
    });
  });

  it('names a folder that can not be made', async () => {
    writeFileSync(join(dir, 'file'), '');
    const inFile = Spool.open({
      clock: systemClock,
      dir: join(dir, 'file', 'spool'),
      maxBytes: MIB,
      onDeath() {},
    });
    await expect(inFile).rejects.toMatchObject({
      code: 'SPOOL_FAILING',
      message: expect.stringContaining(dir),
    });
  });

  it('takes nothing any more when it is closed', async () => {
    const spool = await open();
    await spool.close();
    await spool.close();
    await expect(spool.append(row(1))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
  });
});

const disposable = <T extends { close(): Promise<void> }>(spool: T) =>
  Object.assign(spool, { [Symbol.asyncDispose]: () => spool.close() });
