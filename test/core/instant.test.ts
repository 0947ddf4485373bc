import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoOf, parseInstant } from '../../src/core/instant.ts';

describe('an instant', () => {
  it.each([
    ['2026-01-02T03:04:05Z', Date.UTC(2026, 0, 2, 3, 4, 5)],
    ['2026-01-02T03:04Z', Date.UTC(2026, 0, 2, 3, 4)],
    ['2026-01-02T03:04:05.678+02:00', Date.UTC(2026, 0, 2, 1, 4, 5, 678)],
    ['2026-01-02T03:04:05-0330', Date.UTC(2026, 0, 2, 6, 34, 5)],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
    [0, 0],
    [1_767_323_045_000, 1_767_323_045_000],
    [8.64e15, 8.64e15],
  ])('is read from %j', (given, instant) => {
    expect(parseInstant(given)).toBe(instant);
  });

  it.each([
    ['no offset, so that the instant is not known', '2026-01-02T03:04:05'],
    ['a day without a time', '2026-01-02'],
    ['no such day', '2026-02-30T00:00:00Z'],
    ['no such day in that year', '2026-02-29T00:00:00Z'],
    ['the day zero', '2026-01-00T00:00:00Z'],
    ['no such month', '2026-13-01T00:00:00Z'],
    ['no such hour', '2026-01-01T25:00:00Z'],
    ['no such offset', '2026-01-01T00:00:00+99:99'],
    ['words', 'tomorrow'],
    ['more behind it', '2026-01-02T03:04:05Z\n'],
    ['a number as text', '1767323045000'],
    ['a part of a millisecond', 0.5],
    ['no number', Number.NaN],
    ['seconds of another age: no Date holds it', 8.64e15 + 1],
    ['nothing', null],
    ['an object', { time: 1 }],
  ])('is not read from %s', (_, given) => {
    expect(parseInstant(given)).toBeUndefined();
  });

  it('is the same from a number as from the text that stands for it, and never one that no Date can hold', () => {
    const dates = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31T23:59:59Z') });
    fc.assert(
      fc.property(dates, (date) => parseInstant(date.toISOString()) === parseInstant(date.getTime())),
    );
    fc.assert(
      fc.property(fc.maxSafeInteger(), (number) => {
        const instant = parseInstant(number);
        return instant === undefined || !Number.isNaN(new Date(instant).getTime());
      }),
    );
  });
});

it('is written as ISO 8601, and said to be none where no Date holds it', () => {
  expect(isoOf(0)).toBe('1970-01-01T00:00:00.000Z');
  expect([-9e15, Number.NaN, Number.POSITIVE_INFINITY].map(isoOf)).toEqual([
    'no time (-9000000000000000)',
    'no time (NaN)',
    'no time (Infinity)',
  ]);
});
