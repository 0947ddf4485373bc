import { beforeEach, describe, expect, it } from 'vitest';
import { TooLong } from '../../../src/avro/avro-writer.ts';
import { LargeBodyThreads } from '../../../src/ingress/large-body/large-body-threads.ts';
import { verified } from '../../support/delivery-parts.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

let isQuiet: boolean;
let lent: number;
let mayBorrow: boolean;
/** What each thread was given, in its order: `{thread}{body}`. */
let begun: string[];
let ends: Map<string, () => void>;
let clock: ManualClock;
let threads: LargeBodyThreads;

/** A thread that works on one body until a test ends that. */
function thread(name: string) {
  let busy = 0;
  const work = async ({ body }: { body: Buffer }) => {
    busy++;
    begun.push(`${name}${body}`);
    await new Promise<void>((resolve) => ends.set(String(body), resolve));
    busy--;
    return name;
  };
  return {
    store: work,
    drain: work,
    identify: work,
    hasRoom: () => busy === 0,
    warm() {},
    stop: async () => {},
  };
}

beforeEach(() => {
  isQuiet = true;
  lent = 0;
  mayBorrow = true;
  begun = [];
  ends = new Map();
  clock = manualClock();
  threads = new LargeBodyThreads(
    [thread('A'), thread('B')] as never,
    {
      isQuiet: () => isQuiet,
      borrowWork: () => {
        if (!mayBorrow) return null;
        lent++;
        return () => {
          lent--;
        };
      },
      async awaitWork(bytes) {
        lent += bytes;
        return () => {
          lent -= bytes;
        };
      },
    },
    clock,
    100,
  );
});

const store = (word: string) => threads.store({ ...verified(''), body: Buffer.from(word) }, () => 1_000);
const settled = () => new Promise((resolve) => setImmediate(resolve));
async function end(word: string) {
  ends.get(word)?.();
  await settled();
}

describe('the threads for large bodies', () => {
  it('are two while no small bodies come, in the order of the bodies, and the memory is given back at the end', async () => {
    const all = ['1', '2', '3', '4'].map(store);
    await settled();
    expect([begun, lent]).toEqual([['A1', 'B2'], 1]);
    await end('2');
    expect(begun).toEqual(['A1', 'B2', 'B3']);
    await end('1');
    expect([begun, lent]).toEqual([['A1', 'B2', 'B3', 'A4'], 1]);
    await end('3');
    await end('4');
    expect(lent).toBe(0);
    expect(await Promise.all(all)).toEqual(['A', 'B', 'B', 'A']);
  });

  it('are one while small bodies come, and again one as soon as they do', async () => {
    isQuiet = false;
    const all = ['1', '2', '3', '4'].map(store);
    await settled();
    expect([begun, lent]).toEqual([['A1'], 0]);
    isQuiet = true;
    await end('1');
    expect([begun, lent]).toEqual([['A1', 'A2', 'B3'], 1]);
    isQuiet = false;
    await end('3');
    expect([begun, lent]).toEqual([['A1', 'A2', 'B3'], 0]);
    await end('2');
    await end('4');
    await Promise.all(all);
  });

  it('are one where there is no memory for a second one', async () => {
    mayBorrow = false;
    const all = ['1', '2'].map(store);
    await settled();
    expect(begun).toEqual(['A1']);
    await end('1');
    expect(begun).toEqual(['A1', 'A2']);
    await end('2');
    await Promise.all(all);
  });

  it('have the memory of the second before bodies have it, and not for long where none comes', async () => {
    threads.warm();
    await settled();
    expect(lent).toBe(1);
    await clock.advance(5_000);
    expect(lent).toBe(0);
    threads.warm();
    await settled();
    const all = ['1', '2'].map(store);
    expect([begun, lent]).toEqual([['A1', 'B2'], 1]);
    await end('1');
    await end('2');
    await Promise.all(all);
    expect(lent).toBe(0);
    isQuiet = false;
    threads.warm();
    await settled();
    expect(lent).toBe(0);
  });

  it('are two as soon as there is memory for the second one', async () => {
    mayBorrow = false;
    const all = ['1', '2', '3'].map(store);
    await settled();
    mayBorrow = true;
    await end('1');
    expect([begun, lent]).toEqual([['A1', 'A2', 'B3'], 1]);
    await end('2');
    await end('3');
    await Promise.all(all);
    expect(lent).toBe(0);
  });

  it('work on one of the spool beside those that come from outside, with memory of those that wait', async () => {
    isQuiet = false;
    const drained = threads.drain({ ...verified(''), body: Buffer.from('drained') });
    await settled();
    expect([begun, lent]).toEqual([['Adrained'], 'drained'.length]);
    const stored = store('1');
    await settled();
    // The fake is busy; the real one counts what is drained apart.
    await end('drained');
    expect([await drained, lent]).toEqual(['A', 0]);
    const next = store('2');
    await end('1');
    await end('2');
    await Promise.all([stored, next]);
  });

  it('start the next body when work in its place has ended', async () => {
    let isFree = true;
    const first = {
      ...thread('A'),
      hasRoom: () => isFree,
      async aside(work: () => Promise<unknown>) {
        isFree = false;
        await work();
        isFree = true;
      },
    };
    const lender = { isQuiet: () => true, borrowWork: () => null, awaitWork: async () => () => {} };
    threads = new LargeBodyThreads([first, thread('B')] as never, lender, clock, 100);
    let finish = () => {};
    const aside = threads.aside(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const stored = store('1');
    await settled();
    expect(begun).toEqual([]);
    finish();
    await aside;
    expect(begun).toEqual(['A1']);
    await end('1');
    await stored;
  });

  it('drain one that needs more memory than its length with that of the largest body', async () => {
    const lent: number[] = [];
    const drain = async (_: unknown, bytes: number) => {
      lent.push(bytes);
      if (bytes < 100) throw new TooLong();
      return 'stored';
    };
    const awaitWork = async (bytes: number) => {
      lent.push(bytes);
      return () => void lent.push(-bytes);
    };
    const lender = { isQuiet: () => true, borrowWork: () => null, awaitWork };
    threads = new LargeBodyThreads([{ ...thread('A'), drain }, thread('B')] as never, lender, clock, 100);
    expect(await threads.drain({ ...verified(''), body: Buffer.from('1') })).toBe('stored');
    expect(lent).toEqual([1, 1, -1, 100, 100, -100]);
  });

  it('go on after a body that was not stored', async () => {
    const failing = { ...thread('A'), store: () => Promise.reject(new Error('no')), hasRoom: () => true };
    const lender = { isQuiet: () => true, borrowWork: () => null, awaitWork: async () => () => {} };
    threads = new LargeBodyThreads([failing, thread('B')] as never, lender, clock, 100);
    await expect(store('1')).rejects.toThrow('no');
    await expect(store('2')).rejects.toThrow('no');
  });
});
