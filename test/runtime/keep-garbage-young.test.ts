import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';

/** Objects of one place in the code that outlive their first collections, as those of events do that wait. */
const WAITING_EVENTS = `
  const event = (n) => ({ n, parts: [n] });
  const waiting = [];
  for (let n = 0; n < 3_000_000; n++) waiting.push(event(n));
`;

/** One thread and a small young generation: V8 collects at the same objects every time, whatever else the machine does. */
const REPEATABLE = ['--single-threaded', '--max-semi-space-size=1'];

const decisions = (...args: string[]) => {
  const told = execFileSync(
    process.execPath,
    ['--trace-pretenuring-statistics', ...REPEATABLE, ...args, '-e', WAITING_EVENTS],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  return told.split('\n').filter((line) => line.includes('=> tenure')).length;
};

describe('a process that keeps garbage young', () => {
  it('never allocates among the old objects because some once lived long, as V8 does by itself', () => {
    expect(decisions()).toBeGreaterThan(0);
    expect(decisions('--import', join(ROOT, 'src/runtime/keep-garbage-young.ts'))).toBe(0);
  });
});
