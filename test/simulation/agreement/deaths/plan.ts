import { createRandom } from '../../../faults/random.ts';

export const BROKERS = 3;
export const PARTITIONS = 3;
/** How long clients let time pass between their steps. */
export const TICK_MS = 5;

/** Something that happens to brokers. */
export type Fault = {
  readonly kind: 'kill' | 'freeze';
  readonly brokers: readonly number[];
  /** It begins when so many batches have been acknowledged since the one before was over. */
  readonly after: number;
  readonly ms: number;
};

export type Plan = {
  readonly seed: number;
  readonly faults: readonly Fault[];
  /** Between a producer's acknowledged batch and its next. */
  readonly paceMs: number;
};

export function drawPlan(seed: number): Plan {
  const random = createRandom(seed, 'deaths');
  const faults = Array.from({ length: random.between(1, 2) }, (): Fault => {
    const first = random.between(1, BROKERS);
    const second = (first % BROKERS) + 1;
    return {
      kind: random.chance(0.6) ? 'kill' : 'freeze',
      brokers: random.chance(0.3) ? [first, second] : [first],
      after: random.between(5, 40),
      // Shorter and longer than it takes until a silent broker is taken for dead.
      ms: random.between(300, 7_000),
    };
  });
  return { seed, faults, paceMs: random.between(20, 100) };
}
