import { describe, expect, it } from 'vitest';
import { isPointer, removeAt, setAt } from '../../../src/sandbox/core/json.ts';

describe('setAt', () => {
  it.each([
    ['', 1, {}, 1],
    ['/a', 1, {}, { a: 1 }],
    ['/a/b', 1, {}, { a: { b: 1 } }],
    ['/a~1b/m~0n', 1, {}, { 'a/b': { 'm~n': 1 } }],
    ['/', 1, {}, { '': 1 }],
    ['/~01', 1, {}, { '~1': 1 }],
    ['/l/1', 9, { l: [1, 2] }, { l: [1, 9] }],
    ['/l/-', 9, { l: [1] }, { l: [1, 9] }],
    ['/l/0/x', 9, { l: [{}] }, { l: [{ x: 9 }] }],
  ])('%s', (pointer, value, document, expected) => {
    expect(setAt(document as never, pointer, value)).toEqual(expected);
  });

  it('refuses a way through a plain value, or past the end of a list', () => {
    expect(() => setAt({ a: 7 }, '/a/b', 1)).toThrow(TypeError);
    expect(() => setAt({ l: [1] }, '/l/2', 1)).toThrow(TypeError);
    expect(() => setAt([], '/x', 1)).toThrow(TypeError);
  });

  it('never touches a prototype', () => {
    setAt({}, '/__proto__/polluted', true);
    setAt({}, '/constructor/prototype/polluted', true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

it('removeAt removes what is there and leaves the rest', () => {
  const document = { a: { b: 1, c: 2 }, l: [1, 2, 3] };
  for (const pointer of ['/a/b', '/l/1', '/x/y', '/l/9', '/a/c/d']) removeAt(document, pointer);
  expect(document).toEqual({ a: { c: 2 }, l: [1, 3] });
});

it('isPointer knows the syntax', () => {
  expect(['', '/', '/a/b', '/~0~1'].map(isPointer)).toEqual([true, true, true, true]);
  expect(['a', '/~', '/~2', 'a/b'].map(isPointer)).toEqual([false, false, false, false]);
});
