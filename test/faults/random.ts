/** Numbers that a seed and a stream's name determine: the same seed gives the same faults. mulberry32 over FNV-1a. */
export type Random = {
  /** From 0 up to 1, which is left out. */
  next(): number;
  /** A whole number; both ends can come. */
  between(least: number, most: number): number;
  /** A whole number from 0 up to `end`, which is left out. */
  below(end: number): number;
  chance(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
};

export function createRandom(seed: number, stream: string): Random {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(`${seed}/${stream}`)) state = Math.imul(state ^ byte, 0x01000193);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  const below = (end: number) => Math.floor(next() * end);
  return {
    next,
    between,
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)] as never,
  };
}
