import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { underLock } from './lock.ts';

const signal = new AbortController().signal;

function lockFile(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lock-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return join(dir, 'folder', 'a.lock');
}

it('lets one in at a time, and the next one in when the first is out, even by an error', async () => {
  const file = lockFile();
  const steps: string[] = [];
  const { promise: failing, reject } = Promise.withResolvers<void>();
  const onWait = () => {
    steps.push('second waits');
    reject(new Error('first fails'));
  };
  const first = underLock(file, { deadlineMs: 5_000, signal, onWait }, () => failing);
  const second = underLock(file, { deadlineMs: 5_000, signal, onWait }, async () =>
    steps.push('second is in'),
  );
  await expect(first).rejects.toThrow('first fails');
  await second;
  expect(steps).toEqual(['second waits', 'second is in']);
});

it('gives up at the deadline', async () => {
  const file = lockFile();
  const options = { deadlineMs: 50, signal, onWait: () => {} };
  await underLock(file, options, async () => {
    await expect(underLock(file, options, async () => {})).rejects.toThrow('Another process');
  });
});
