import { type Clock, pause, systemClock } from './clock.ts';

/** How long to wait before attempt n (1 is the first repeat): data, so that a timeline can be read off it. */
export type Backoff = { readonly firstMs: number; readonly factor: number; readonly maxMs: number };

/** 0.5, 1, 2, 4, 5, 5 … s, each shortened by up to a quarter so that many processes don't knock at once. */
export const STARTUP_BACKOFF: Backoff = { firstMs: 500, factor: 2, maxMs: 5_000 };

export function delayBefore(attempt: number, backoff: Backoff, random = Math.random): number {
  const full = Math.min(backoff.firstMs * backoff.factor ** (attempt - 1), backoff.maxMs);
  return Math.round(full * (1 - random() / 4));
}

/**
 * Tries until it succeeds, `signal` aborts or `again` says that the error is final; unset: none is. An attempt in progress
 * is not cut short: it has a deadline of its own.
 * `onFailure` sees each failure with the attempt's number (from 1), but for one that comes after the abort.
 * @throws the reason of `signal`, or the error that is final
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  options: {
    backoff: Backoff;
    signal: AbortSignal;
    again?: (error: unknown) => boolean;
    onFailure?: (error: unknown, attempt: number) => void;
    clock?: Clock;
  },
): Promise<T> {
  const { clock = systemClock, again = () => true } = options;
  for (let n = 1; ; n++) {
    options.signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      options.signal.throwIfAborted();
      options.onFailure?.(error, n);
      if (!again(error)) throw error;
    }
    await pause(clock, delayBefore(n, options.backoff, clock.random), options.signal);
  }
}
