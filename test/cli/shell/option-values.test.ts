import { describe, expect, it } from 'vitest';
import { ifGiven, instant, secondsAsMs, wholeNumber } from '../../../src/cli/shell/option-values.ts';
import { UsageError } from '../../../src/core/errors.ts';

describe('a whole number', () => {
  it.each([
    ['0', {}, 0],
    ['12', { min: 1 }, 12],
    ['9007199254740991', {}, Number.MAX_SAFE_INTEGER],
  ])('is read from %j', (text, limits, value) => {
    expect(wholeNumber('--limit', text, limits)).toBe(value);
  });

  it.each(['', ' ', '-1', '1.5', '1e3', '0x10', 'many', 'Infinity', 'NaN', '9007199254740992'])(
    'is not %j',
    (text) => {
      expect(() => wholeNumber('--limit', text)).toThrow(UsageError);
      expect(() => wholeNumber('--limit', text)).toThrow(
        `--limit is ${JSON.stringify(text)}: give a whole number from 0.`,
      );
    },
  );

  it('is not one beyond its limits', () => {
    const read = (text: string) => wholeNumber('--partitions', text, { min: 1, max: 10 });
    expect(() => read('0')).toThrow('--partitions is "0": give a whole number from 1 to 10.');
    expect(() => read('11')).toThrow(UsageError);
    expect([read('1'), read('10')]).toEqual([1, 10]);
  });
});

describe('seconds', () => {
  it.each([
    ['60', 60_000],
    ['0.5', 500],
    ['0.001', 1],
    ['2147483', 2_147_483_000],
  ])('are read from %j as milliseconds', (text, ms) => {
    expect(secondsAsMs('--timeout', text)).toBe(ms);
  });

  it.each(['', '0', '-1', '0.0001', 'soon', '1e3', '.5', 'Infinity', '2147484', '99999999999999999999'])(
    'are not %j: nobody would wait so long',
    (text) => {
      expect(() => secondsAsMs('--timeout', text)).toThrow(UsageError);
      expect(() => secondsAsMs('--timeout', text)).toThrow(
        `--timeout is ${JSON.stringify(text)}: give seconds`,
      );
    },
  );
});

describe('an instant', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');

  it.each([
    ['90s', '2026-11-21T11:58:30Z'],
    ['30m', '2026-11-21T11:30:00Z'],
    ['7d', '2026-11-14T12:00:00Z'],
    ['2026-11-21T13:00:00+01:00', '2026-11-21T12:00:00Z'],
  ])('is read from %j', (text, time) => {
    expect(instant(`--since ${text}`, text, now)).toBe(Date.parse(time));
  });

  it.each(['', 'yesterday', '5', '1h30m', '-1h', '2026-11-21', '2026-02-30T00:00:00Z'])(
    'is not %j',
    (text) => {
      expect(() => instant(`--since ${text}`, text, now)).toThrow(UsageError);
      expect(() => instant(`--since ${text}`, text, now)).toThrow(`--since ${text}: give a time such as`);
    },
  );
});

it('an option that is not given has no value; an empty one is refused', () => {
  const read = (text: string) => wholeNumber('--seed', text);
  expect([ifGiven(undefined, read), ifGiven('0', read)]).toEqual([undefined, 0]);
  expect(() => ifGiven('', read)).toThrow(UsageError);
});
