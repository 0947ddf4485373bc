import { expect, it } from 'vitest';
import { mergeJson } from '../../../src/sandbox/messages/make-message.ts';

it.each([
  [{ a: { b: 1, c: 2 } }, { a: { b: 9 } }, { a: { b: 9, c: 2 } }],
  [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
  [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
  [{ a: 'x' }, { a: { b: { c: null, d: 1 } } }, { a: { b: { d: 1 } } }],
  [{ a: 1 }, {}, { a: 1 }],
])('%j with %j is %j', (base, over, merged) => {
  expect(mergeJson(base, over as never)).toEqual(merged);
});

it('takes __proto__ for a field', () => {
  const merged = mergeJson({}, JSON.parse('{"__proto__":{"polluted":true}}'));
  expect(Object.keys(merged as object)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
