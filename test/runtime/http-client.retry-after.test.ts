import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../src/runtime/http-client.ts';

const NOW = Date.parse('Sat, 21 Nov 2026 07:00:00 GMT');
const wait = (retryAfter: string | undefined) => retryAfterMs({ retryAfter }, NOW);
const MOST = 5 * 60_000;

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7_000],
    [' 7 ', 7_000],
    ['Sat, 21 Nov 2026 07:00:30 GMT', 30_000],
    ['Sat, 21 Nov 2026 06:00:00 GMT', 0],
  ])('%j is a time to wait', (text, ms) => {
    expect(wait(text)).toBe(ms);
  });

  it('as a date is meant by the clock of who answers, where that is told', () => {
    const retryAfter = 'Sat, 21 Nov 2026 08:00:02 GMT';
    expect(retryAfterMs({ retryAfter, date: 'Sat, 21 Nov 2026 08:00:00 GMT' }, NOW)).toBe(2_000);
    for (const date of ['today', 'Sat, 99 Nov 2026 08:00:00 GMT'])
      expect(retryAfterMs({ retryAfter, date }, NOW)).toBe(MOST);
    expect(retryAfterMs({ retryAfter: '7', date: 'Sat, 21 Nov 2026 08:00:00 GMT' }, NOW)).toBe(7_000);
  });

  it.each(['3600', '99999999999999999999', '9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'of a far time, %j, is cut to five minutes',
    (text) => {
      expect(wait(text)).toBe(MOST);
    },
  );

  it.each([
    undefined,
    '',
    '-5',
    '1.5',
    '1e3',
    '0x10',
    'soon',
    'soon 1',
    '2026-11-21T08:00:00Z',
    'Sat, 99 Nov 2026 07:00:30 GMT',
    'Sat, 21 Nox 2026 07:00:30 GMT',
  ])('%j says nothing', (text) => {
    expect(wait(text)).toBeNull();
  });

  it('of any text is nothing or a time within bounds', () => {
    const anything = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const ms = wait(text);
        expect(ms === null || (ms >= 0 && ms <= MOST)).toBe(true);
      }),
    );
  });
});
