import { setTimeout as sleep } from 'node:timers/promises';

/** Time as a dependency, so that tests can control it. `sleep` rejects when the signal aborts. */
export type Clock = {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};
