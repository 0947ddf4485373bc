import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { IndexFile, temporaryIndexDir } from '../../../src/console/index/index-file.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-index-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const LARGE = 1024 ** 3;
const entry = (term: number, offset: number, partition = 0) => ({
  term,
  partition,
  offset,
  time: 1_000 + offset,
  isLate: false,
});
const covers = (first: number, next: number, partition = 0) => [{ partition, first, next }];

it('finds the latest entries of a term in each topic, and how many there are', () => {
  using file = new IndexFile(dir, LARGE);
  file.add('a', 'id-a', [entry(7, 1), entry(7, 2), entry(7, 3), entry(8, 4)], covers(0, 5));
  file.add('b', 'id-b', [{ ...entry(7, 9, 2), isLate: true }], covers(9, 10, 2));
  expect(file.find(7, 2)).toEqual([
    {
      topic: 'a',
      count: 3,
      latest: [
        { partition: 0, offset: 3, time: 1_003, isLate: false },
        { partition: 0, offset: 2, time: 1_002, isLate: false },
      ],
    },
    { topic: 'b', count: 1, latest: [{ partition: 2, offset: 9, time: 1_009, isLate: true }] },
  ]);
  expect(file.find(9, 2)).toEqual([]);
});

it('takes the latest of all partitions', () => {
  using file = new IndexFile(dir, LARGE);
  const entries = [entry(7, 1, 0), entry(7, 5, 1), entry(7, 3, 0)];
  file.add('a', 'id', entries, [...covers(0, 4, 0), ...covers(0, 6, 1)]);
  expect(file.find(7, 2)[0]?.latest.map(({ offset }) => offset)).toEqual([5, 3]);
});

it('keeps what it covers over a restart, and forgets a topic that was created anew', () => {
  {
    using file = new IndexFile(dir, LARGE);
    file.add('a', 'id', [entry(7, 1)], covers(0, 5));
  }
  using file = new IndexFile(dir, LARGE);
  expect(file.covered('a', 'id')).toEqual([{ partition: 0, first: 0, next: 5 }]);
  expect(file.find(7, 1)).toHaveLength(1);
  expect(file.covered('a', 'another id')).toEqual([]);
  expect(file.find(7, 1)).toEqual([]);
});

it('drops the oldest entries when the file has its size, and says from where on it covers', () => {
  using file = new IndexFile(dir, 1024 ** 2, 10_000);
  const batch = 2_000;
  for (let from = 0; from < 60_000; from += batch) {
    const entries = Array.from({ length: batch }, (_, n) => entry((from + n) * 7_919, from + n));
    file.add('a', 'id', entries, covers(file.covered('a', 'id')[0]?.first ?? 0, from + batch));
    expect(file.bytes).toBeLessThan(1.5 * 1024 ** 2);
  }
  const [covered] = file.covered('a', 'id');
  expect(covered?.next).toBe(60_000);
  expect(covered?.first).toBeGreaterThan(0);
  expect((covered?.first ?? 1) % 10_000).toBe(0);
  expect(file.find(((covered?.first ?? 0) - 1) * 7_919, 1)).toEqual([]);
  expect(file.find((covered?.first ?? 0) * 7_919, 1)).toHaveLength(1);
  expect(file.find(59_999 * 7_919, 1)).toHaveLength(1);
});

it('does not take back what it says it covers, where a reader does not know yet what was dropped', () => {
  using file = new IndexFile(dir, 1024 ** 2, 10_000);
  const batch = 2_000;
  for (let from = 0; from < 60_000; from += batch) {
    const entries = Array.from({ length: batch }, (_, n) => entry((from + n) * 7_919, from + n));
    file.add('a', 'id', entries, covers(0, from + batch));
  }
  const [covered] = file.covered('a', 'id');
  expect(covered?.first).toBeGreaterThan(0);
  expect(file.find((covered?.first ?? 0) * 7_919, 1)).toHaveLength(1);
});

it('begins anew where the file is none of its own', () => {
  writeFileSync(join(dir, 'index.sqlite'), 'not a database, but longer than a header of one: '.repeat(100));
  using file = new IndexFile(dir, LARGE);
  file.add('a', 'id', [entry(7, 1)], covers(0, 5));
  expect(file.find(7, 1)).toHaveLength(1);
});

it('does not share its file with another console', () => {
  using file = new IndexFile(dir, LARGE);
  file.add('a', 'id', [], covers(0, 5));
  expect(() => new IndexFile(dir, LARGE)).toThrow('is used by another console');
});

it('takes the next entries after some that the disk did not take, also where they were its first', () => {
  using file = new IndexFile(dir, LARGE);
  // What the table refuses ends the transaction as a full disk does.
  const refused = () => file.add('a', 'id-a', [{ ...entry(7, 1), time: 0.5 }], covers(0, 2));
  expect(refused).toThrow(/INTEGER/);
  expect(file.covered('a', 'id-a')).toEqual([]);
  expect(refused).toThrow(/INTEGER/);
  file.add('a', 'id-a', [entry(7, 1)], covers(0, 2));
  expect(refused).toThrow(/INTEGER/);
  file.add('a', 'id-a', [entry(7, 2)], covers(0, 3));
  expect(file.find(7, 5)).toMatchObject([{ topic: 'a', count: 2 }]);
  expect(file.covered('a', 'id-a')).toEqual([{ partition: 0, first: 0, next: 3 }]);
});

it('says what to set where there is no place for it, as in a container whose root is read-only', () => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  const remedy =
    /directory of the index .*(ENOTDIR|EEXIST).*Set CONSOLE_INDEX_DIR to a directory that can be written/;
  expect(() => new IndexFile(join(file, 'index'), LARGE)).toThrow(remedy);
  expect(() => new IndexFile(file, LARGE)).toThrow(remedy);
  expect(() => temporaryIndexDir(file)).toThrow(remedy);
});

it('has a temporary directory of its own', () => {
  const [one, other] = [temporaryIndexDir(dir), temporaryIndexDir(dir)];
  expect(one).not.toBe(other);
  using file = new IndexFile(one, LARGE);
  expect(file.find(7, 1)).toEqual([]);
});
