import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type Backoff, delayBefore, retry, STARTUP_BACKOFF } from '../../src/runtime/retry.ts';

const SOON: Backoff = { firstMs: 1, factor: 1, maxMs: 1 };
const LONG: Backoff = { firstMs: 3_600_000, factor: 1, maxMs: 3_600_000 };

/** Fails so many times, then gives the number of the attempt. */
function failing(times: number) {
  let attempts = 0;
  return async () => {
    if (++attempts <= times) throw new Error(`attempt ${attempts}`);
    return attempts;
  };
}

describe('the delay before a repeat', () => {
  it('follows the timeline that stands beside it', () => {
    const timeline = [1, 2, 3, 4, 5, 6, 5_000].map((n) => delayBefore(n, STARTUP_BACKOFF, () => 0));
    expect(timeline).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
  });

  it('is shortened by a quarter at most, and never negative or endless', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, random) => {
          const full = delayBefore(n, STARTUP_BACKOFF, () => 0);
          const shortened = delayBefore(n, STARTUP_BACKOFF, () => random);
          return shortened <= full && shortened >= Math.floor(full * 0.75);
        },
      ),
    );
  });
});

describe('retry', () => {
  const options = (given: Partial<Parameters<typeof retry>[1]> = {}) => ({
    backoff: SOON,
    signal: new AbortController().signal,
    again: () => true,
    ...given,
    onFailure: vi.fn(given.onFailure),
  });

  it('gives what the first success gives, and tells each failure with its number', async () => {
    const given = options();
    expect(await retry(failing(2), given)).toBe(3);
    expect(given.onFailure.mock.calls.map(([error, n]) => [(error as Error).message, n])).toEqual([
      ['attempt 1', 1],
      ['attempt 2', 2],
    ]);
  });

  it('ends with an error that is final', async () => {
    const given = options({ again: (error) => (error as Error).message !== 'attempt 2' });
    await expect(retry(failing(9), given)).rejects.toThrow('attempt 2');
    expect(given.onFailure).toHaveBeenCalledTimes(2);
  });

  it('does not begin where the signal has aborted', async () => {
    const attempt = vi.fn(async () => 1);
    const given = options({ signal: AbortSignal.abort(new Error('stopping')) });
    await expect(retry(attempt, given)).rejects.toThrow('stopping');
    expect(attempt).not.toHaveBeenCalled();
  });

  it('ends a wait when the signal aborts, with its reason, and leaves no listener behind', async () => {
    const controller = new AbortController();
    const onFailure = () => void setImmediate(() => controller.abort(new Error('stopping')));
    const given = options({ backoff: LONG, signal: controller.signal, onFailure });
    await expect(retry(failing(9), given)).rejects.toThrow('stopping');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('takes no failure for one that the abort has caused', async () => {
    const controller = new AbortController();
    const given = options({ signal: controller.signal });
    const attempt = async () => {
      controller.abort(new Error('stopping'));
      throw new Error('cut off');
    };
    await expect(retry(attempt, given)).rejects.toThrow('stopping');
    expect(given.onFailure).not.toHaveBeenCalled();
  });
});
