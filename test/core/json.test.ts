import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonTooLarge, parseBoundedJson } from '../../src/core/json.ts';

const limits = { maxValues: 1_000, maxDepth: 50 };

describe('bounded JSON', () => {
  it('is what JSON.parse makes of it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json({ maxDepth: 5 }), fc.string()), (text) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {
          expect(() => parseBoundedJson(text, limits)).toThrow(SyntaxError);
          return;
        }
        expect(parseBoundedJson(text, limits)).toEqual(parsed);
      }),
    );
  });

  it.each([
    ['a text of brackets', JSON.stringify({ a: '[{,'.repeat(1_000), b: '\\"[' }), false],
    ['as many as it may be', `[${Array(1_000).fill('1').join()}]`, false],
    ['one more', `[${Array(1_001).fill('1').join()}]`, true],
    ['empty objects', `[${Array(501).fill('{}').join()}]`, true],
    ['as deep as it may be', '['.repeat(50) + ']'.repeat(50), false],
    ['one level more', '['.repeat(51) + ']'.repeat(51), true],
  ])('counts the values and levels of %s', (_, text, isTooLarge) => {
    if (isTooLarge) expect(() => parseBoundedJson(text, limits)).toThrow(JsonTooLarge);
    else expect(parseBoundedJson(text, limits)).toEqual(JSON.parse(text));
  });
});
