import { describe, expect, it } from 'vitest';
import { joinable, labelOf, PresentParts } from '../../src/dead-letters/parts.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';

describe('the name of an attempt', () => {
  it('takes little memory, whoever wrote it', () => {
    const of = (name: string) => labelOf({ headers: { [NAMES.part]: '1', [NAMES.partsOf]: name } }, 2);
    expect(of('ab'.repeat(16))).toEqual({ part: 1, attempt: 'ab'.repeat(16) });
    const one = of('x'.repeat(100_000));
    const other = of('y'.repeat(100_000));
    expect(one.attempt).toHaveLength(64);
    expect(other.attempt).not.toBe(one.attempt);
  });
});

describe('parts that have come', () => {
  it('are all of them where one attempt has them', () => {
    const parts = new PresentParts(2);
    parts.add({ part: 1, attempt: 'a' });
    parts.add({ part: 2, attempt: 'b' });
    expect(parts.isWhole).toBe(false);
    parts.add({ part: 1, attempt: 'b' });
    expect(parts.isWhole).toBe(true);
  });

  it('are held of a thousand attempts', () => {
    const parts = new PresentParts(2);
    for (let n = 0; n < 1_000; n++) parts.add({ part: 1, attempt: `${n}` });
    for (const part of [1, 2]) parts.add({ part, attempt: 'one more' });
    expect(parts.isWhole).toBe(false);
    parts.add({ part: 2, attempt: '7' });
    expect(parts.isWhole).toBe(true);
  });
});

describe('parts to join', () => {
  const of = (at: number, part: string, partsOf: string) => ({
    ...labelOf({ headers: { [NAMES.part]: part, [NAMES.partsOf]: partsOf } }, 2),
    at,
  });

  it('are the first of each, in order, of the first attempt that has stored all of them', () => {
    const records = [of(0, '1', 'a'), of(1, '2', 'b'), of(2, '1', 'b'), of(3, '1', 'b'), of(4, '2', 'c')];
    expect(joinable([...records, of(5, '1', 'c')]).map(({ at }) => at)).toEqual([2, 1]);
  });

  it('are none beyond those that there are', () => {
    const records = [of(0, '3', 'a'), of(1, '1', 'a')];
    expect(joinable(records).map(({ at }) => at)).toEqual([1]);
    const present = new PresentParts(2);
    for (const record of records) present.add(record);
    expect(present.isWhole).toBe(false);
  });
});
