import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../faults/random.ts';
import type { Actor, Simulation } from './simulation.ts';

/** The clock that production code gets as an argument: the simulation's time, and the actor's own chance. */
export function actorClock(simulation: Simulation, actor: Actor, random: Random): Clock {
  const after: Clock['after'] = (ms, work, options) => simulation.after(ms, actor, work, options);
  return {
    now: () => simulation.now,
    wall: () => simulation.wall(actor),
    random: () => random.next(),
    sleep: (ms, { signal, ...options } = {}) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const end = () => {
          forget?.();
          resolve();
        };
        const timer = after(ms, end, options);
        const stop = () => {
          timer.cancel();
          forget?.();
          reject(signal?.reason);
        };
        const forget = signal && simulation.onAbort(signal, stop);
      }),
    turn: () => new Promise((resolve) => after(0, resolve)),
    tick: () => new Promise((resolve) => process.nextTick(resolve)),
    after,
    every: (ms, work) => simulation.after(ms, actor, work, { everyMs: ms }),
  };
}
