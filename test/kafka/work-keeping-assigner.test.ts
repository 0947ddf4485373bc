import { describe, expect, it } from 'vitest';
import { dealOut } from '../../src/kafka/work-keeping-assigner.ts';

const places = (...numbers: number[]) => numbers.map((partition) => ({ topic: 't', partition }));
const numbersOf = (dealt: ReturnType<typeof dealOut>) =>
  Object.fromEntries([...dealt].map(([member, of]) => [member, of.map(({ partition }) => partition)]));

describe('partitions', () => {
  it('are dealt out evenly', () => {
    const dealt = dealOut(places(0, 1, 2, 3, 4), [
      { memberId: 'b', kept: [] },
      { memberId: 'a', kept: [] },
    ]);
    expect(numbersOf(dealt)).toEqual({ a: [0, 2, 4], b: [1, 3] });
  });

  it('in work stay where they are, and count for the share', () => {
    const dealt = dealOut(places(0, 1, 2, 3), [
      { memberId: 'a', kept: [] },
      { memberId: 'b', kept: places(0, 2) },
    ]);
    expect(numbersOf(dealt)).toEqual({ a: [1, 3], b: [0, 2] });
  });

  it('that two keep are given to one; that are no more are given to none', () => {
    const dealt = dealOut(places(0, 1), [
      { memberId: 'b', kept: places(0, 1) },
      { memberId: 'a', kept: places(1, 7) },
    ]);
    expect(numbersOf(dealt)).toEqual({ a: [1], b: [0] });
  });
});
