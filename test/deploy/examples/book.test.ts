import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

it('waits while another process has the file locked', async () => {
  const file = join(dir, 'ledger.sqlite');
  using book = new Book(file);
  const holder = spawn(process.execPath, ['-e', HOLD, file], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(holder.stdout, 'data');
  expect(book.book({ eventId: 'e-1', entityId: 'p-1', status: 'ACSC', source: '{}' })).toBe(true);
  expect(book.payments()).toEqual([{ entityId: 'p-1', status: 'ACSC', changes: 1 }]);
  await once(holder, 'close');
});
