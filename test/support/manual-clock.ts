import { type Clock, systemClock } from '../../src/runtime/clock.ts';

export type ManualClock = Clock & {
  /** Lets `ms` pass: calls what is due on the way, in order, and lets what waits for it run. */
  advance(ms: number): Promise<void>;
  /** How many timers wait. */
  waiting(): number;
};

type Due = { at: number; readonly everyMs: number | undefined; readonly work: () => void };

/** A clock that stands still until it is told to go on. */
export function manualClock(startWall = Date.UTC(2026, 0, 1)): ManualClock {
  let now = 0;
  const due = new Set<Due>();
  const add = (ms: number, work: () => void, everyMs?: number) => {
    const timer: Due = { at: now + ms, everyMs, work };
    due.add(timer);
    return { cancel: () => void due.delete(timer) };
  };
  const next = (until: number) => [...due].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
  return {
    now: () => now,
    wall: () => startWall + now,
    random: () => 0,
    sleep: (ms, { signal } = {}) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const timer = add(ms, () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        });
        const stop = () => {
          timer.cancel();
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', stop, { once: true });
      }),
    turn: systemClock.turn,
    tick: systemClock.tick,
    after: (ms, work) => add(ms, work),
    every: (ms, work) => add(ms, work, ms),
    waiting: () => due.size,
    async advance(ms) {
      const until = now + ms;
      await settled();
      for (let timer = next(until); timer; timer = next(until)) {
        now = Math.max(now, timer.at);
        if (timer.everyMs === undefined) due.delete(timer);
        else timer.at = now + timer.everyMs;
        timer.work();
        await settled();
      }
      now = until;
    },
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
