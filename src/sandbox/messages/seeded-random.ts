import { createHash } from 'node:crypto';

export type SeededRandom = ReturnType<typeof createRandom>;

/**
 * Random values that a seed and a stream's name determine, so that a run can be repeated and its n-th message doesn't
 * depend on the ones before. mulberry32: good enough for made-up data, and nothing here guards anything.
 */
export function createRandom(seed: number, stream: string) {
  let state = createHash('sha256').update(`${seed}/${stream}`).digest().readUInt32LE(0);
  /** From 0 up to `end`, which is left out. */
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
  const letters = (alphabet: string, length: number) => {
    let text = '';
    while (text.length < length) text += alphabet[below(alphabet.length)];
    return text;
  };
  return {
    below,
    pick: <T>(values: readonly T[]): T => values[below(values.length)] as T,
    digits: (length: number) => letters('0123456789', length),
    letters: (length: number) => letters('ABCDEFGHIJKLMNOPQRSTUVWXYZ', length),
    /** A version 4 UUID by its form. */
    uuid(): string {
      const hex = letters('0123456789abcdef', 31);
      const variant = '89ab'[below(4)];
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-${variant}${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
    },
  };
}
