import fc from 'fast-check';

/** A decoder, and what must hold of it whatever it gets. */
export type Fuzzed = {
  readonly decoder: string;
  /** Its part of all cases; some take long. */
  readonly weight: number;
  /** Throws where it does not hold. */
  readonly property: fc.IAsyncProperty<unknown> | fc.IProperty<unknown>;
};

/** A decoder whose input is made by `arbitrary`. */
export function fuzzed<T>(
  decoder: string,
  weight: number,
  arbitrary: fc.Arbitrary<T>,
  holds: (input: T) => void | Promise<void>,
): Fuzzed {
  const property = fc.asyncProperty(arbitrary, async (input) => holds(input));
  return { decoder, weight, property: property as unknown as Fuzzed['property'] };
}

type Change = { readonly at: number; readonly remove: number; readonly insert: Buffer };

/** Bytes that say something to a decoder: counts, ends of containers, escapes, invalid UTF-8. */
const TELLING = [
  '00',
  '01',
  '02',
  '7f',
  '80',
  'ff',
  '8080808008',
  'ffffffffffffffffff01',
  'feffffff0f',
  '22',
  '5c',
  '7b',
  '5d',
  '2c',
  'c0af',
  'eda080',
];

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 4 }),
  insert: fc.oneof(
    fc.constantFrom(...TELLING).map((hex) => Buffer.from(hex, 'hex')),
    fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  ),
});

/** Changes of bytes: none, some, or cut off. */
export const changes = fc.record({
  changes: fc.array(change, { maxLength: 3 }),
  keep: fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  ),
});

export type Changes = { readonly changes: readonly Change[]; readonly keep: number };

/** The bytes with the changes; `null` where they change nothing. */
export function changed(bytes: Buffer, { changes: all, keep }: Changes): Buffer | null {
  let result = bytes;
  for (const { at, remove, insert } of all) {
    const place = at % (result.length + 1);
    result = Buffer.concat([result.subarray(0, place), insert, result.subarray(place + remove)]);
  }
  result = result.subarray(0, Math.ceil(result.length * keep));
  return result.equals(bytes) ? null : result;
}

/** Fails the property, with words. */
export function must(condition: unknown, words: string): asserts condition {
  if (!condition) throw new Error(words);
}

/** What `act` gives, or the error that it throws; another error than `expected` takes is thrown on. */
export async function outcome<T>(
  act: () => T | Promise<T>,
  expected: (error: unknown) => boolean,
): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await act() };
  } catch (error) {
    if (!expected(error)) throw error;
    return { error };
  }
}
