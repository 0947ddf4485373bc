import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Form } from '../load/bodies.ts';

type Work = { heapBytes: number; recordBytes: number; timers: number; calls: Record<string, number> };

/** Of the program beside this file; a space for new objects that takes all of a run keeps the collector out of it. */
async function countWork(form: Form, what: 'heap' | 'calls'): Promise<Work> {
  const space = ['--min-semi-space-size=256', '--max-semi-space-size=256', '--expose-gc'];
  const program = join(import.meta.dirname, 'count-work.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...space, program, form, what]);
  return JSON.parse(stdout);
}

/** A sixth above what is measured: whoever raises it says why in the commit. */
const MOST_HEAP_BYTES: Readonly<Record<Form, number>> = { plain: 7_300, sealed: 9_200 };

describe.each(['plain', 'sealed'] as const)('from signature to record, a small %s webhook', (form) => {
  it('takes three hashes (two of them the HMAC), no object of its JSON, no key, no timer and few buffers', async () => {
    const { calls, timers, recordBytes } = await countWork(form, 'calls');
    expect(recordBytes).toBeGreaterThan(600);
    const { from = 0, allocUnsafe = 0, parse = 0, ...crypto } = calls;
    expect(crypto).toEqual({ hash: 3, ...(form === 'sealed' && { createDecipheriv: 1 }) });
    // One sealed body in 256 begins like a JSON object, and is tried as one.
    expect(parse).toBeLessThan(0.02);
    expect([from, allocUnsafe].map(Math.round)).toEqual([1, 3]);
    expect(timers).toBe(0);
  }, 60_000);

  it('allocates no more of the heap than it did', async () => {
    const { heapBytes } = await countWork(form, 'heap');
    expect(heapBytes).toBeLessThan(MOST_HEAP_BYTES[form]);
    expect(heapBytes).toBeGreaterThan(0.6 * MOST_HEAP_BYTES[form]);
  }, 60_000);
});
