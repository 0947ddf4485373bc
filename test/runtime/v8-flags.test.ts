import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  collectGarbage,
  collectYoungInOneThread,
  disablePretenuring,
  growHeapAtOnce,
  keepCodeThroughPauses,
  limitHeapGrowth,
} from '../../src/runtime/v8-flags.ts';
import { ROOT } from '../support/source-tree.ts';

/** Objects of one place in the code that outlive their first collections, as those of events do that wait. */
const WAITING_EVENTS = `
  const event = (n) => ({ n, parts: [n] });
  const waiting = [];
  for (let n = 0; n < 3_000_000; n++) waiting.push(event(n));
`;

/** One thread and a small young generation: V8 collects at the same objects every time, whatever else the machine does. */
const REPEATABLE = ['--single-threaded', '--max-semi-space-size=1'];

/** A program that sets a flag of ours, to be run before another one. */
const setting = (flag: () => void) => {
  const file = pathToFileURL(join(ROOT, 'src/runtime/v8-flags.ts'));
  const program = `import { ${flag.name} } from '${file}'; ${flag.name}();`;
  return ['--import', `data:text/javascript,${encodeURIComponent(program)}`];
};

/** What V8 tells of a program that collects often. */
const traced = (...args: string[]): string =>
  execFileSync(process.execPath, [...args, '-e', WAITING_EVENTS], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });

/** How often V8 decides to allocate among the old objects; the text is what it prints. */
const decisions = (...args: string[]) =>
  traced('--trace-pretenuring-statistics', ...REPEATABLE, ...args)
    .split('\n')
    .filter((line) => line.includes('=> tenure')).length;

/** Milliseconds that other threads have collected young objects. */
const elsewhere = (...args: string[]) =>
  [...traced('--trace-gc-nvp', ...args).matchAll(/background\.scavenge\.parallel=([\d.]+)/g)].reduce(
    (sum, [, ms]) => sum + Number(ms),
    0,
  );

describe('a process that disables pretenuring', () => {
  it('never allocates among the old objects because some once lived long, as V8 does by itself', () => {
    expect(decisions()).toBeGreaterThan(0);
    expect(decisions(...setting(disablePretenuring))).toBe(0);
  });
});

describe('a process that collects young objects in one thread', () => {
  it('does so, where V8 by itself takes several', () => {
    expect(elsewhere()).toBeGreaterThan(0);
    expect(elsewhere(...setting(collectYoungInOneThread))).toBe(0);
  });
});

/** A process that frees much, collects, and has nothing to do: V8 waits for 8 s then. */
const PAUSE = `
  let held = Array.from({ length: 200_000 }, (_, n) => ({ n }));
  gc();
  held = undefined;
  setTimeout(() => {}, 12_000);
`;

/** What V8 collects during a pause. With --optimize-for-size it does not ask first how much was allocated lately. */
const collectionsInPause = async (...args: string[]): Promise<string[]> => {
  const flags = ['--expose-gc', '--trace-gc', '--optimize-for-size', ...args, '-e', PAUSE];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  return (stdout.match(/Mark-Compact( \(reduce\))?/g) ?? []).slice(1);
};

describe('a process that keeps its code through pauses', () => {
  it('collects in them all the same, but not to save memory at any price, as V8 does by itself', async () => {
    const [byItself, keeping] = await Promise.all([
      collectionsInPause(),
      collectionsInPause(...setting(keepCodeThroughPauses)),
    ]);
    expect(byItself).toContain('Mark-Compact (reduce)');
    expect(keeping).toContain('Mark-Compact');
    expect(keeping).not.toContain('Mark-Compact (reduce)');
  }, 30_000);
});

/** A process of few live objects that has had nothing to do, and then makes buffers that are soon free again. */
const BUFFERS_BEHIND_A_PAUSE = `
  const held = Array.from({ length: 300_000 }, (_, n) => ({ n }));
  gc();
  setTimeout(async () => {
    console.log('the pause is over');
    for (let turn = 0; turn < 600; turn++) {
      for (let n = 0; n < 200; n++) new ArrayBuffer(20_000);
      await new Promise((done) => setImmediate(done));
    }
  }, 12_000);
`;

/** By how much V8 lets the heap grow after each collection that comes behind the pause. */
const factorsBehindAPause = async (...args: string[]): Promise<number[]> => {
  const flags = ['--expose-gc', '--trace-gc-verbose', ...args, '-e', BUFFERS_BEHIND_A_PAUSE];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { maxBuffer: 64 * 1024 * 1024 });
  const [, behind = ''] = stdout.split('the pause is over');
  return [...behind.matchAll(/\[HeapController\] factor ([\d.]+)/g)].map(([, factor]) => Number(factor));
};

describe('a process that lets its heap grow at once', () => {
  it('may have three times its live objects behind a pause, where V8 by itself allows a third more', async () => {
    const [byItself, growing] = await Promise.all([
      factorsBehindAPause(),
      factorsBehindAPause(...setting(growHeapAtOnce)),
    ]);
    expect(byItself.length).toBeGreaterThan(0);
    expect(Math.max(...byItself)).toBeLessThanOrEqual(1.3);
    expect(new Set(growing)).toEqual(new Set([3]));
  }, 60_000);
});

describe('a process that sets flags of V8', () => {
  it.each([
    disablePretenuring,
    collectYoungInOneThread,
    keepCodeThroughPauses,
    growHeapAtOnce,
    limitHeapGrowth,
  ])('refuses a Node.js that it was not measured on: %o', (set) => {
    expect(() => set('25.1.0')).toThrow('was measured on Node.js 24, and this is 25.1.0');
  });
});

it('The collector frees what nothing holds any more', () => {
  const held = new WeakRef({ of: 'some size' });
  return new Promise<void>((resolve) => {
    // A WeakRef holds its object until the end of the turn in which it was made.
    setImmediate(() => {
      collectGarbage();
      expect(held.deref()).toBeUndefined();
      resolve();
    });
  });
});
