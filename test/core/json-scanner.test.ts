import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJson } from '../../src/core/json-scanner.ts';
import { jsonText } from '../avro/transcode/json-text.ts';

const takes = (text: string) => isJson(Buffer.from(text));

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the scanner', () => {
  it('takes what JSON.parse takes, and refuses what it refuses', () => {
    const signs = fc.constantFrom(...'{}[]:,"\\ue0-+.1tfn \n\u0001é', 'true', 'null', '\\u00', '"a"');
    const change = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 3 }),
      insert: fc.array(signs, { maxLength: 2 }),
    });
    let taken = 0;
    let refused = 0;
    fc.assert(
      fc.property(jsonText(['a', 'b']), fc.array(change, { maxLength: 2 }), (text, changes) => {
        let changed = text;
        for (const { at, remove, insert } of changes) {
          const place = at % (changed.length + 1);
          changed = changed.slice(0, place) + insert.join('') + changed.slice(place + remove);
        }
        const whole = changed.toWellFormed();
        const expected = parses(whole);
        if (expected) taken++;
        else refused++;
        expect(takes(whole)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
    // Were it all of one kind it would show little.
    expect(Math.min(taken, refused)).toBeGreaterThan(500);
  });

  it.each([
    ...[
      '',
      ' ',
      '{',
      '[',
      '"',
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      '[1',
      '[1,',
      '-',
      '1.',
      '1e',
      '01',
      '+1',
      '.5',
    ],
    ...[
      'tru',
      'nul',
      'truee',
      '"\\',
      '"\\u12',
      '"\\x"',
      '"\t"',
      '{a:1}',
      '{1:1}',
      "'a'",
      '[1,]',
      '{"a":1,}',
      '[1 2]',
    ],
    ...['{}{}', '\ufeff1', '[1}', '{"a":1]', 'NaN', '1e+', '"a\nb"', '[,1]', '{,}', '\u00a01'],
  ])('refuses %j, as JSON.parse does', (text) => {
    expect(parses(text)).toBe(false);
    expect(takes(text)).toBe(false);
  });

  it('goes as deep as a message does', () => {
    const depth = 2_000_000;
    expect(takes(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`)).toBe(true);
    expect(takes(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth - 1)}]}`)).toBe(false);
  });
});
