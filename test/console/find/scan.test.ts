import { expect, it } from 'vitest';
import { Scan, slicesOf, unsearchedOf } from '../../../src/console/find/scan.ts';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { until } from '../../support/until.ts';

const coverage = (partitions: object[], topic = 't') => [
  { topic, kind: 'event' as const, failure: null, partitions: partitions as never[] },
];
const rangesOf = (partitions: object[]) =>
  slicesOf(coverage(partitions)).map(({ range: { partition, from, to } }) => `${partition}: ${from}-${to}`);

it('reads what the index does not hold, the latest offsets first', () => {
  const before = { partition: 0, oldest: 0, first: 12_000, next: 20_000, end: 20_000 };
  const behind = { partition: 1, oldest: 0, first: 0, next: 3, end: 7 };
  expect(rangesOf([before, behind])).toEqual(['1: 3-7', '0: 7000-12000', '0: 2000-7000', '0: 0-2000']);
  expect(rangesOf([{ partition: 0, oldest: 5, first: 5, next: 9, end: 9 }])).toEqual([]);
});

it('counts what neither the index holds nor a scan has read', () => {
  const partition = { partition: 0, oldest: 0, first: 5_000, next: 20_000, end: 20_000 };
  const before = coverage([partition]);
  expect(unsearchedOf(before, [])).toBe(5_000);
  expect(unsearchedOf(before, before)).toBe(0);
  // The index has dropped its oldest entries since, or has not read the newest records yet.
  expect(unsearchedOf(coverage([{ ...partition, first: 9_000 }]), before)).toBe(4_000);
  expect(unsearchedOf(coverage([{ ...partition, oldest: 7_000, first: 9_000 }]), before)).toBe(2_000);
  expect(unsearchedOf(coverage([{ ...partition, end: 20_100 }]), before)).toBe(100);
  expect(unsearchedOf(coverage([partition], 'another'), before)).toBe(5_000);
});

const record = (offset: bigint): IncomingRecord => ({
  topic: 't',
  partition: 0,
  offset,
  key: null,
  value: null,
  timestamp: 0,
  headers: { ce_id: offset === 4_999n ? 'e' : 'other' },
});

it('says how far it is, goes on after a failure, and keeps what it found', async () => {
  let failures = 1;
  const scan = new Scan({
    index: {
      started: Promise.resolve(),
      coverage: () => coverage([{ partition: 0, oldest: 0, first: 10_000, next: 10_000, end: 10_000 }]),
    },
    read: () => Promise.reject(new Error('nothing is decoded')),
    records: {
      async readRanges(_, passes, onRecord) {
        const range = passes[0]?.[0];
        if (range?.from === 0n && failures-- > 0) throw new Error('lost');
        for (let offset = range?.from ?? 0n; offset < (range?.to ?? 0n); offset++) onRecord(record(offset));
      },
    },
  });
  expect(scan.of('e')).toBeNull();
  expect(scan.start('e', 'vera')).toMatchObject({ status: 'running', read: 0 });
  await until('it has failed', () => scan.of('e')?.state.status === 'failed');
  expect(scan.of('e')?.state).toMatchObject({ read: 5_000, found: 0, message: 'lost' });
  expect(scan.start('e', 'vera')).toMatchObject({ status: 'running', total: 5_000 });
  await until('it is done', () => scan.of('e')?.state.status === 'done');
  expect(scan.of('e')).toMatchObject({ found: [{ topic: 't', partition: 0, offset: 4_999 }] });
  await scan.stop();
});

it('lets nobody end what another user searches for', async () => {
  const reading = Promise.withResolvers<void>();
  const scan = new Scan({
    index: {
      started: Promise.resolve(),
      coverage: () => coverage([{ partition: 0, oldest: 0, first: 10_000, next: 10_000, end: 10_000 }]),
    },
    read: () => Promise.reject(new Error('nothing is decoded')),
    records: { readRanges: () => reading.promise },
  });
  const status = (wanted: string) => scan.of(wanted)?.state.status;
  expect(scan.start('a', 'vera').status).toBe('running');
  expect(scan.start('b', 'vito').status).toBe('waiting');
  expect([status('a'), scan.start('a', 'vito').status]).toEqual(['running', 'running']);
  // One search of a user: vito's other one has ended, and vera still wants this one.
  expect(scan.start('c', 'vito').status).toBe('waiting');
  reading.resolve();
  await until('the last one is done', () => status('c') === 'done');
  expect([status('a'), status('b')]).toEqual(['done', 'stopped']);
  await scan.stop();
});

it('counts nothing twice that is asked for again while the first scan still reads its slice', async () => {
  const reading: (() => void)[] = [];
  const scan = new Scan({
    index: {
      started: Promise.resolve(),
      coverage: () => coverage([{ partition: 0, oldest: 0, first: 10_000, next: 10_000, end: 10_000 }]),
    },
    read: () => Promise.reject(new Error('nothing is decoded')),
    records: {
      async readRanges(_, passes, onRecord) {
        await new Promise<void>((resolve) => reading.push(resolve));
        const range = passes[0]?.[0];
        for (let offset = range?.from ?? 0n; offset < (range?.to ?? 0n); offset++)
          onRecord({ ...record(offset), headers: { ce_id: offset === 0n || offset === 5_000n ? 'e' : '' } });
      },
    },
  });
  const next = async () => {
    await until('a slice is read', () => reading.length > 0);
    reading.shift()?.();
  };
  scan.start('e', 'vera');
  await next();
  await until('the second slice is read', () => reading.length > 0);
  scan.start('other', 'vera');
  scan.start('e', 'vera');
  await next();
  await next();
  await until('it is done', () => scan.of('e')?.state.status === 'done');
  expect(scan.of('e')?.found.map(({ offset }) => offset)).toEqual([5_000, 0]);
  await scan.stop();
});
