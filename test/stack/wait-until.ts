import { setTimeout as sleep } from 'node:timers/promises';
import { StackError } from './stack-error.ts';

/** True when it is so, else why not yet. A check that throws ends the waiting; each has a short deadline of its own. */
export type Check = () => Promise<true | string>;

export type Waiting = { deadlineMs: number; signal: AbortSignal; everyMs?: number };

/** `fault` is what is wrong when the time is up, as the beginning of a sentence: "Kafka doesn't answer". */
export async function waitUntil(fault: string, check: Check, waiting: Waiting): Promise<void> {
  const end = performance.now() + waiting.deadlineMs;
  for (;;) {
    waiting.signal.throwIfAborted();
    const answer = await check();
    if (answer === true) return;
    if (performance.now() > end) {
      throw new StackError(`${fault} after ${waiting.deadlineMs / 1000} s. ${answer}`);
    }
    // Cut short by the signal, whose own reason is then thrown above.
    await sleep(waiting.everyMs ?? 50, undefined, { signal: waiting.signal }).catch(() => {});
  }
}

/** The work's result, or `late` where it takes longer. The work goes on, but holds nobody up. */
export function withDeadline<T, L>(work: Promise<T>, ms: number, late: L): Promise<T | L> {
  return Promise.race([work, sleep(ms, late, { ref: false })]);
}
