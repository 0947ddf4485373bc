import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memberSpans } from '../../src/core/json-scanner.ts';

/** The text of the member's value, or null. */
function member(text: string, name: string): string | null {
  JSON.parse(text);
  const bytes = Buffer.from(text);
  const span = memberSpans(bytes, [name])?.get(name) ?? null;
  return span && bytes.toString('utf8', span.start, span.end);
}

describe('the span of a member', () => {
  it.each([
    ['{"payload":"abc"}', '"abc"'],
    ['{ "type" : "x" ,\n\t"payload" : { "a" : [1, {"b":2}] } , "z" : 1 }', '{ "a" : [1, {"b":2}] }'],
    ['{"payload":[],"a":1}', '[]'],
    ['{"payload":-1.5e+3}', '-1.5e+3'],
    ['{"payload":-1.5e+3 }', '-1.5e+3'],
    ['{"payload":null,"a":"payload"}', 'null'],
    ['{"a":{"payload":1},"payload":2}', '2'],
    ['{"a":"\\"payload\\":1","payload":2}', '2'],
    ['{"a":"}","payload":"]\\\\"}', '"]\\\\"'],
    ['{"pay\\u006coad":true}', 'true'],
    ['{"payload":1,"payload":2}', '2'],
    ['{"ä😀":"é","payload":"ü"}', '"ü"'],
  ])('in %s is that of %s', (text, value) => {
    expect(member(text, 'payload')).toBe(value);
  });

  it.each(['{}', '{ }', '{"a":{"payload":1}}', '{"a":["payload",1]}'])('in %s is none', (text) => {
    expect(member(text, 'payload')).toBeNull();
  });

  it('holds what JSON.parse gives, for every member of any object, however it is spaced', () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });
    fc.assert(
      fc.property(objects, fc.integer({ min: 0, max: 4 }), (object, spaces) => {
        const text = JSON.stringify(object, null, spaces);
        const parsed = JSON.parse(text) as Record<string, unknown>;
        for (const name of Object.keys(parsed)) {
          expect(JSON.parse(member(text, name) ?? expect.fail(`no ${name}`))).toEqual(parsed[name]);
        }
      }),
    );
  });

  it.each(['', '[]', '1', '{"a":1', '{"a":1}}', '{"a":1,}', '{"a":1} x', '{a:1}', '{"a":01}'])(
    'is asked of %s, which is no JSON object: there are no members',
    (text) => {
      expect(memberSpans(Buffer.from(text), ['a'])).toBeNull();
    },
  );
});
