import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SpoolFile } from '../../src/spool/spool-file.ts';
import { sealingKeysOf } from '../support/spool-scene.ts';

const ROW = {
  ...({ ref: 'r', subscriptionId: 's', mediaType: 'json', receivedAt: 1, traceparent: null } as const),
  body: Buffer.from('{}'),
};

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

const open = (...letters: string[]) =>
  new SpoolFile({ dir, maxBytes: 1e8, sealingKeys: sealingKeysOf(...letters) });

it('counts a row without its key once, also where its removal finds the disk full first', () => {
  const before = open('a');
  before.append([ROW, ROW]);
  before.close();
  const file = open('b');
  expect(file.state()).toMatchObject({ rows: 2, keyMissing: 2 });
  const exec = DatabaseSync.prototype.exec;
  let isFull = true;
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    if (sql === 'COMMIT' && isFull) {
      isFull = false;
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    }
    exec.call(this, sql);
  });
  file.remove([1]);
  expect([isFull, file.state()]).toMatchObject([false, { rows: 1, keyMissing: 1 }]);
  file.close();
});

it('leaves out rows that it is to pass over, and reads as many others', () => {
  const file = open('a');
  file.append([ROW, ROW, ROW, ROW]);
  const limits = { maxRows: 2, maxBytes: 100, passOver: new Set([1, 3]) };
  expect(file.read(limits).map(({ id }) => id)).toEqual([2, 4]);
  expect(file.readable([1, 4, 5])).toEqual([1, 4]);
  file.close();
});

it('takes rows after an opening at which SQLite has cut its log short itself', () => {
  const killed = join(dir, 'killed');
  const log = join(killed, 'spool.sqlite-wal');
  const before = new SpoolFile({ dir, maxBytes: 1e8 });
  before.append([{ ...ROW, body: Buffer.alloc(6_000_000) }]);
  for (const name of ['spool.sqlite', 'spool.sqlite-wal']) cpSync(join(dir, name), join(killed, name));
  before.close();
  const { size } = statSync(log);
  const file = new SpoolFile({ dir: killed, maxBytes: 1e8, sealingKeys: sealingKeysOf('a') });
  expect(statSync(log).size).toBeLessThan(size);
  file.append([ROW]);
  expect(file.counts.rows).toBe(2);
  file.close();
});

it('takes no more than SPOOL_MAX_BYTES of rows with small bodies: what they have beside these counts', () => {
  const maxBytes = 100_000;
  const file = new SpoolFile({ dir, maxBytes });
  const rows = Array.from({ length: 90 }, () => ({
    ...ROW,
    ref: 'r'.repeat(64),
    traceparent: 't'.repeat(55),
  }));
  let stored = 0;
  const fill = () => {
    for (; stored < 9_000; stored += rows.length) file.append(rows);
  };
  expect(fill).toThrow(expect.objectContaining({ code: 'SPOOL_FULL' }));
  expect(file.state().rows).toBe(stored);
  expect(file.state().bytes).toBeLessThanOrEqual(maxBytes);
  file.close();
});
