import { type Clock, systemClock } from '../runtime/clock.ts';
import { retry } from '../runtime/retry.ts';
import { ObjectStoreFault, STORE_BACKOFF } from './object-store.ts';

/** Of one answer, repeats included. A store that says SlowDown takes seconds until it has more capacity. */
const ANSWER_MS = 30_000;

/**
 * Asks the store, and again while it is unavailable, for at most 30 s: what asks thousands of times must not fail at a single
 * 503. For tools, behind which no webhook waits.
 * @throws ObjectStoreFault the last one; and the reason of `signal`
 */
export async function askAgain<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<T> {
  const deadline = new AbortController();
  const timer = clock.after(ANSWER_MS, () => deadline.abort());
  const either = AbortSignal.any([signal, deadline.signal]);
  let last: unknown;
  try {
    return await retry(() => ask(either), {
      backoff: STORE_BACKOFF,
      signal: either,
      clock,
      again: (error) => error instanceof ObjectStoreFault && error.kind === 'unavailable',
      onFailure(error) {
        last = error;
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.signal.aborted) throw error;
    throw last ?? new ObjectStoreFault('unavailable', `no answer within ${ANSWER_MS / 1_000} s`);
  } finally {
    timer.cancel();
  }
}
