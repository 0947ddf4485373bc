import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, it } from 'vitest';
import { Book } from '../../../deploy/examples/ledger/book.ts';

const dir = mkdtempSync(join(tmpdir(), 'book-'));
afterAll(() => rmSync(dir, { recursive: true }));

const HOLD = `
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(process.argv[1]);
db.exec('BEGIN IMMEDIATE');
process.stdout.write('held');
setTimeout(() => db.exec('COMMIT'), 300);
`;

const event = (eventId: string, status: string | null, statedAt: number) => ({
  eventId,
  entityId: 'p-1',
  subscription: 'eu',
  statedAt,
  status,
  source: '{}',
});

it('keeps the status that was stated last, whatever came behind it, or said nothing of a status', () => {
  using book = new Book(join(dir, 'order.sqlite'));
  for (const one of [event('e-1', 'RCVD', 10), event('e-3', 'ACCC', 30), event('e-2', 'ACSP', 20)])
    book.book(one);
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACCC', changes: 3 }]);
  book.book(event('e-4', null, 40));
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACCC', changes: 4 }]);
  book.book(event('e-5', 'RJCT', 35));
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'RJCT', changes: 5 }]);
});

it('keeps a final status when an earlier one is received behind it, as by a retry, even if no message has a time', () => {
  using book = new Book(join(dir, 'retry.sqlite'));
  for (const one of [event('e-1', 'PDNG', 10), event('e-3', 'ACSC', 30), event('e-2', 'ACSP', 40)])
    book.book(one);
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACSC', changes: 3 }]);
  book.book(event('e-4', 'ACCC', 50));
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACCC', changes: 4 }]);
});

it('opens a file of before it knew the times', () => {
  const file = join(dir, 'earlier.sqlite');
  const before = new DatabaseSync(file);
  before.exec(`CREATE TABLE payments (entity_id TEXT PRIMARY KEY, status TEXT, changes INTEGER NOT NULL);
    INSERT INTO payments VALUES ('p-1', 'RCVD', 1)`);
  before.close();
  using book = new Book(file);
  book.book(event('e-2', 'ACSP', 20));
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACSP', changes: 2 }]);
});

it('waits while another process has the file locked', async () => {
  const file = join(dir, 'ledger.sqlite');
  using book = new Book(file);
  const holder = spawn(process.execPath, ['-e', HOLD, file], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(holder.stdout, 'data');
  expect(book.book(event('e-1', 'ACSC', 1))).toBe(true);
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACSC', changes: 1 }]);
  await once(holder, 'close');
});
