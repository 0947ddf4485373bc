/** Numbers that a seed determines (mulberry32), so that a state that loses something can be built again. */
export type Random = {
  /** A whole number from 0 up to `end`, which is left out. */
  below(end: number): number;
  chance(probability: number): boolean;
};

export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (end) => Math.floor(next() * end), chance: (probability) => next() < probability };
}
