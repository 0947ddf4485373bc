import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';

/** Lateness that is caught up. More is forgiven, so that a pause isn't followed by a flood. */
const CAUGHT_UP_MS = 250;
/** Turns after which others get theirs, when nothing else makes us wait. */
const TURNS_IN_A_ROW = 32;

/**
 * Returns a function that resolves when the next turn is due: `rate` a second, evenly, or at once where it is null.
 * Over any stretch of t seconds there are at most rate × (t + 0.25) + 1 turns. Rejects when the signal aborts.
 */
export function createPacer(parts: { rate: number | null; clock: Clock; signal: AbortSignal }) {
  const { rate, clock, signal } = parts;
  let start: number | null = null;
  let turns = 0;
  return async function nextTurn(): Promise<void> {
    if (rate !== null) {
      start ??= clock.now();
      const due = start + (turns * 1000) / rate;
      const late = clock.now() - due;
      if (late > CAUGHT_UP_MS) start += late - CAUGHT_UP_MS;
      for (let early = -late; early > 0; early = due - clock.now()) {
        await clock.sleep(Math.ceil(early), signal);
      }
    }
    turns += 1;
    if (turns % TURNS_IN_A_ROW === 0) await setImmediate();
    signal.throwIfAborted();
  };
}
