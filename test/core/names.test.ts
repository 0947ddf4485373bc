import { describe, expect, it } from 'vitest';
import { isRef } from '../../src/core/names.ts';

describe('a ref', () => {
  it.each(['a', '0', 'ledger-eu', 'a-', `a${'b'.repeat(62)}`])('may be %j', (ref) => {
    expect(isRef(ref)).toBe(true);
  });

  it.each([
    '',
    '-a',
    'A',
    'a_b',
    'a.b',
    'a/b',
    '..',
    'a\n',
    'ä',
    `a${'b'.repeat(63)}`,
    null,
    undefined,
    1,
    ['a'],
  ])('may not be %j', (ref) => {
    expect(isRef(ref)).toBe(false);
  });
});
