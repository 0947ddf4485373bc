import { beforeEach, describe, expect, it } from 'vitest';
import { Sharing, UsualTime } from '../../../src/kafka/produce/sharing.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

let now: number;
let usual: UsualTime;
let sharing: Sharing;
const clock = { ...systemClock, now: () => now };

beforeEach(() => {
  now = 1_000_000;
  usual = new UsualTime();
  sharing = new Sharing(usual, clock);
});

/** A batch of this partition that took so long. */
const took = (ms: number, more: { isAlone?: boolean; isSure?: boolean } = {}) =>
  sharing.note({ ms, isAlone: false, isSure: true, ...more });
/** Batches of other partitions. */
const others = (count: number, ms: number) => {
  for (let n = 0; n < count; n++) usual.note(ms);
};
/** How long it goes by itself from now on, to the nearest 100 ms. */
const apartMs = () => {
  const begin = now;
  while (!sharing.allows(1_000)) now += 100;
  const ms = now - begin;
  now = begin;
  return ms;
};

describe('a partition shares its requests', () => {
  it('from the beginning, with batches up to 64 KiB', () => {
    expect([1, 65_536, 65_537].map((bytes) => sharing.allows(bytes))).toEqual([true, true, false]);
  });

  it('while they take no longer than usual, however long that is', () => {
    others(200, 60);
    took(400);
    expect(apartMs()).toBe(0);
  });

  it('not where batches take long anyway', () => {
    others(200, 150);
    expect(sharing.allows(1_000)).toBe(false);
    others(200, 20);
    expect(sharing.allows(1_000)).toBe(true);
  });

  it('not for a while after a slow one, in which it shows which partition is slow', () => {
    others(200, 10);
    took(70);
    expect(apartMs()).toBe(0);
    took(90);
    expect(apartMs()).toBe(400);
    took(400);
    expect(apartMs()).toBe(1_600);
  });

  it('not for ten seconds after one that was slow by itself, and again', () => {
    others(200, 10);
    took(150, { isAlone: true });
    expect(apartMs()).toBe(10_000);
    now += 9_000;
    took(150, { isAlone: true });
    expect(apartMs()).toBe(10_000);
    took(5, { isAlone: true });
    expect(apartMs()).toBe(10_000);
  });

  it('not after one of which nobody knows what became of it', () => {
    took(1, { isSure: false });
    expect(apartMs()).toBe(200);
    took(1, { isSure: false, isAlone: true });
    expect(apartMs()).toBe(10_000);
  });
});

describe('what is usual', () => {
  it('is what half of the batches take, whatever some others do', () => {
    for (let n = 0; n < 500; n++) usual.note(n % 4 === 0 ? 3_000 : 12);
    expect(usual.ms).toBeGreaterThan(6);
    expect(usual.ms).toBeLessThan(24);
  });
});
