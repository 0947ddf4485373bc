import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePointer, resolvePointer } from '../../src/core/json.ts';

/** The document and the pointers of RFC 6901, section 5. */
const DOCUMENT = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

const resolve = (value: unknown, pointer: string) =>
  resolvePointer(value, parsePointer(pointer) ?? expect.fail(`${pointer} is none`));

describe('a JSON pointer', () => {
  it.each([
    ['', DOCUMENT],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('%j leads where RFC 6901 says', (pointer, value) => {
    expect(resolve(DOCUMENT, pointer)).toEqual(value);
  });

  it('decodes ~01 to ~1, not to a slash', () => {
    expect(parsePointer('/a~01b')).toEqual(['a~1b']);
  });

  it.each(['foo', 'foo/bar', '/~', '/a~2', '/a~', '#/foo'])('%j is none', (text) => {
    expect(parsePointer(text)).toBeNull();
  });

  it.each(['/foo/2', '/foo/-', '/foo/01', '/foo/length', '/foo/0/0', '/nothing', '/foo/bar', '//'])(
    '%j leads nowhere',
    (pointer) => {
      expect(resolve(DOCUMENT, pointer)).toBeUndefined();
    },
  );

  it.each(['/constructor', '/__proto__', '/toString/name', '/foo/__proto__'])(
    '%j reaches nothing that is not in the message',
    (pointer) => {
      expect(resolve(JSON.parse('{"foo":["bar"]}'), pointer)).toBeUndefined();
      expect(resolve(null, pointer)).toBeUndefined();
    },
  );

  it('leads to any member, whatever its name, when it is escaped', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (name, value) => {
        const message = JSON.parse(JSON.stringify({ outer: [{ [name]: value }] }));
        const pointer = `/outer/0/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        expect(resolve(message, pointer)).toEqual(message.outer[0][name]);
      }),
    );
  });
});
