import { describe, expect, it } from 'vitest';
import { createRate } from '../../../src/sandbox/test-api/run-trigger.ts';

/** A clock that moves when someone sleeps, by a bit more than asked, as real ones do. */
function movingClock(overshootMs = 0.4) {
  let now = 1_000_000;
  return {
    wall: () => now,
    sleep: async (ms: number) => {
      now += ms + overshootMs;
    },
    pass: (ms: number) => {
      now += ms;
    },
  };
}
const signal = new AbortController().signal;

describe('the rate', () => {
  it.each([3, 100, 999, 5000])('keeps within %i a second, evenly', async (rate) => {
    const clock = movingClock();
    const nextFiring = createRate({ rate, clock, signal });
    const start = clock.wall();
    for (let n = 0; n < 2 * rate; n++) {
      await nextFiring();
      const passed = clock.wall() - start;
      const due = (n * 1000) / rate;
      expect(passed).toBeGreaterThanOrEqual(due - 1e-6);
      expect(passed).toBeLessThanOrEqual(due + 2);
    }
  });

  it('catches up on a short pause and forgives a long one', async () => {
    const clock = movingClock(0);
    const nextFiring = createRate({ rate: 100, clock, signal });
    await nextFiring();
    clock.pass(60_000);
    const before = clock.wall();
    let atOnce = 0;
    for (await nextFiring(); clock.wall() === before; await nextFiring()) atOnce += 1;
    expect(atOnce).toBeGreaterThanOrEqual(25);
    expect(atOnce).toBeLessThanOrEqual(27);
  });

  it('without a rate gives others their turn', async () => {
    const nextFiring = createRate({ rate: null, clock: movingClock(), signal });
    let others = 0;
    const other = setImmediate(() => {
      others += 1;
    });
    for (let n = 0; n < 100; n++) await nextFiring();
    expect(others).toBe(1);
    clearImmediate(other);
  });

  it('stops when it is told', async () => {
    const controller = new AbortController();
    const nextFiring = createRate({ rate: null, clock: movingClock(), signal: controller.signal });
    await nextFiring();
    controller.abort(new Error('enough'));
    await expect(nextFiring()).rejects.toThrow('enough');
  });
});
