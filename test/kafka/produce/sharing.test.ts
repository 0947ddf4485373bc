import { beforeEach, describe, expect, it } from 'vitest';
import { Sharing, UsualTime, Waves } from '../../../src/kafka/produce/sharing.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

let now: number;
let waves: Waves;
let sharing: Sharing;
const clock = { ...systemClock, now: () => now };

beforeEach(() => {
  now = 1_000_000;
  waves = new Waves(clock);
  sharing = new Sharing(waves, clock);
});

/** A batch of this partition that took so long. */
const took = (ms: number, { isAlone = false, isSure = true } = {}) => {
  const end = sharing.begin({ records: 1, isAlone });
  now += ms;
  end(isSure);
};
/** Batches of other partitions. */
const others = (count: number, ms: number) => {
  for (let n = 0; n < count; n++) waves.usual.note(ms);
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
    took(400);
    expect(apartMs()).toBe(0);
  });

  it('not where batches take long anyway', () => {
    others(200, 150);
    expect(sharing.allows(1_000)).toBe(false);
    others(200, 20);
    expect(sharing.allows(1_000)).toBe(true);
  });

  it('although one is slow now and then', () => {
    others(200, 10);
    for (let n = 0; n < 100; n++) {
      took(90, { isAlone: n % 2 === 1 });
      for (let quick = 0; quick < 80; quick++) took(5);
    }
    expect(apartMs()).toBe(0);
  });

  it('not for a while after slow ones, in which it shows which partition is slow', () => {
    others(200, 10);
    for (const ms of [100, 100, 100]) took(ms);
    expect(apartMs()).toBe(0);
    for (const ms of [100, 100]) took(ms);
    expect(apartMs()).toBe(400);
    took(400);
    expect(apartMs()).toBe(1_600);
  });

  it.each([
    { slow: 150, quick: 20 },
    { slow: 400, quick: 600 },
  ])('not for long beside others where it is slow for $slow ms, then quick for $quick ms', (of) => {
    others(200, 10);
    let heldUpMs = 0;
    for (const end = now + 60_000; now < end; ) {
      const isAlone = !sharing.allows(1_000);
      if (!isAlone) heldUpMs += of.slow;
      took(of.slow, { isAlone });
      for (const quickUntil = now + of.quick; now < quickUntil; ) {
        took(5, { isAlone: !sharing.allows(1_000) });
        others(10, 10);
      }
    }
    expect(heldUpMs).toBeLessThanOrEqual(800);
  });

  it('not for ten seconds after some that were slow by themselves, and again', () => {
    others(200, 10);
    for (const ms of [150, 150, 150, 150]) took(ms, { isAlone: true });
    expect(apartMs()).toBe(10_000);
    now += 9_000;
    for (const ms of [150, 150, 150, 150]) took(ms, { isAlone: true });
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
    const usual = new UsualTime();
    for (let n = 0; n < 500; n++) usual.note(n % 4 === 0 ? 3_000 : 12);
    expect(usual.ms).toBeGreaterThan(6);
    expect(usual.ms).toBeLessThan(24);
  });
});

describe('a wave', () => {
  const opened = () => {
    const begun: string[] = [];
    const next = (name: string) => waves.next().then(() => begun.push(name));
    return { begun, next };
  };
  const settled = async () => {
    for (let n = 0; n < 3; n++) await systemClock.turn();
  };

  it('begins at once where few records are under way', async () => {
    const { begun, next } = opened();
    waves.begin(15);
    await systemClock.turn();
    await next('a');
    expect(begun).toEqual(['a']);
  });

  it('takes what begins in the same tick', async () => {
    const { begun, next } = opened();
    waves.begin(100);
    await Promise.all([next('a'), next('b')]);
    expect(begun).toEqual(['a', 'b']);
  });

  it('begins when the one before has ended, with all that wait for it', async () => {
    for (let n = 0; n < 200; n++) waves.usual.note(3_000);
    const { begun, next } = opened();
    const [end, endOther] = [waves.begin(20), waves.begin(20)];
    await systemClock.turn();
    void next('a');
    end();
    void next('b');
    await settled();
    expect(begun).toEqual([]);
    endOther();
    await settled();
    expect(begun).toEqual(['a', 'b']);
  });

  it('waits no longer than batches usually take', async () => {
    const { begun, next } = opened();
    waves.begin(100);
    await systemClock.turn();
    await next('a');
    expect(begun).toEqual(['a']);
  });
});
