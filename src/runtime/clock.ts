import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Time and chance, for everything that runs on the way of a webhook or a command: handed in as an argument, so that a
 * simulation can drive them. Nothing on these ways asks Node for either.
 */
export type Clock = {
  /** Milliseconds that only grow, from some beginning: for deadlines and durations. */
  now(): number;
  /** Milliseconds since 1970: for what is written down. It may jump. */
  wall(): number;
  /** At least 0 and below 1. */
  random(): number;
  /** Resolves after `ms`. Rejects with the signal's reason when it aborts. */
  sleep(ms: number, options?: TimerOptions & { readonly signal?: AbortSignal }): Promise<void>;
  /** Resolves in the next turn of the event loop, with all that wait for it: what they do next is done for one after the other. */
  turn(): Promise<void>;
  /** Resolves in this turn, behind all that can go on now. */
  tick(): Promise<void>;
  /** Calls `work` once, after `ms`. */
  after(ms: number, work: () => void, options?: TimerOptions): Timer;
  /** Calls `work` every `ms`. */
  every(ms: number, work: () => void, options?: TimerOptions): Timer;
};

export type TimerOptions = {
  /** false: it does not keep the process alive. */
  readonly ref?: boolean;
};

export type Timer = {
  /** What has not been called yet is not called any more. */
  cancel(): void;
};

/** Resolves after `ms`, or as soon as the signal aborts. */
export const pause = (clock: Pick<Clock, 'sleep'>, ms: number, signal: AbortSignal): Promise<void> =>
  clock.sleep(ms, { signal }).catch(() => {});

let nextTurn: Promise<void> | undefined;

/** The machine's own. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  random: () => Math.random(),
  async sleep(ms, { signal, ref = true } = {}) {
    try {
      await sleep(ms, undefined, { signal, ref });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
  turn() {
    nextTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        nextTurn = undefined;
        resolve();
      });
    });
    return nextTurn;
  },
  tick: () => new Promise((resolve) => process.nextTick(resolve)),
  after(ms, work, { ref = true } = {}) {
    const timer = setTimeout(work, ms);
    if (!ref) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(ms, work, { ref = true } = {}) {
    const timer = setInterval(work, ms);
    if (!ref) timer.unref();
    return { cancel: () => clearInterval(timer) };
  },
};
