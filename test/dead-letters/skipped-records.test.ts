import { expect, it } from 'vitest';
import { SkippedRecords } from '../../src/dead-letters/skipped-records.ts';

const at = (offset: bigint, partition = 0, timestamp = Number(offset)) => ({ partition, offset, timestamp });
const NOTHING_GONE = new Map<number, bigint>();
const counts = (skipped: SkippedRecords, oldest = NOTHING_GONE) =>
  Object.fromEntries(skipped.count(oldest).byStage);

it('counts by stage what no marker names, and loses what retention has deleted', () => {
  const skipped = new SkippedRecords(['A', 'B']);
  expect([skipped.isEmpty, counts(skipped)]).toEqual([true, { A: 0, B: 0 }]);
  for (let n = 100n; n < 20_100n; n++) skipped.add(at(n), n % 2n ? 'A' : 'B');
  skipped.add(at(7n, 3), 'A');
  skipped.add(at(8n, 3), null);
  skipped.mark(at(100n));
  skipped.mark(at(100n));
  // Not here.
  for (const position of [at(99n), at(30_000n), at(100n, 9), at(9n, 3)]) skipped.mark(position);
  expect(counts(skipped)).toEqual({ A: 10_001, B: 9_999 });
  expect(counts(skipped, new Map([[0, 20_090n]]))).toEqual({ A: 6, B: 5 });
  expect([skipped.covers(at(99n)), skipped.covers(at(30_000n)), skipped.covers(at(1n, 9))]).toEqual([
    ...[false, true, false],
  ]);
});

it('is taken once more: what is marked stays known, and the rest counts as long as nobody takes it', () => {
  const skipped = new SkippedRecords(['A', 'B']);
  for (let n = 10n; n < 20n; n++) skipped.add(at(n), 'A');
  skipped.add(at(7n, 3), 'B');
  skipped.mark(at(12n));
  expect(skipped.rewind()).toEqual(
    new Map([
      [0, 10n],
      [3, 7n],
    ]),
  );
  expect([skipped.isEmpty, skipped.covers(at(15n)), counts(skipped)]).toEqual([true, false, { A: 9, B: 1 }]);
  expect([11n, 12n, 5n].map((offset) => skipped.isMarked(at(offset)))).toEqual([false, true, false]);
  skipped.remove(at(11n));
  skipped.add(at(13n), 'B');
  skipped.add(at(12n), 'B');
  expect(counts(skipped)).toEqual({ A: 7, B: 2 });
  expect([skipped.isEmpty, skipped.covers(at(15n))]).toEqual([false, true]);
  expect(skipped.rewind()).toEqual(new Map([[0, 13n]]));
  skipped.clear();
  expect(counts(skipped)).toEqual({ A: 0, B: 0 });
});

it('takes no more memory than it may, also where offsets have gaps', () => {
  const skipped = new SkippedRecords(['A'], 1_000);
  skipped.add(at(0n), 'A');
  skipped.add(at(10n ** 15n), 'A');
  for (let n = 1n; n < 5_000n; n++) skipped.add(at(n), 'A');
  expect(counts(skipped)).toEqual({ A: 1_000 });
});

it('knows when the oldest that is open was written, within 64 offsets', () => {
  const skipped = new SkippedRecords(['A']);
  const oldestAt = (oldest = NOTHING_GONE) => skipped.count(oldest).oldestAt;
  expect(oldestAt()).toBe(Number.POSITIVE_INFINITY);
  for (let n = 0n; n < 128n; n++) skipped.add(at(n, 0, 5_000 + Number(n)), 'A');
  for (let n = 0n; n < 64n; n++) skipped.add(at(n, 1, 1_000 + Number(n)), 'A');
  skipped.add(at(64n, 1, 1), null);
  expect(oldestAt()).toBe(1_000);
  for (let n = 0n; n < 64n; n++) skipped.mark(at(n, 1));
  expect(oldestAt()).toBe(5_000);
  skipped.mark(at(0n));
  expect(oldestAt()).toBe(5_000);
  expect(oldestAt(new Map([[0, 64n]]))).toBe(5_064);
  // Those that are held by now have no part in it.
  skipped.rewind();
  for (let n = 0n; n < 10n; n++) skipped.remove(at(n));
  for (let n = 10n; n < 128n; n++) skipped.add(at(n, 0, 5_000 + Number(n)), 'A');
  expect(oldestAt()).toBe(5_010);
});
