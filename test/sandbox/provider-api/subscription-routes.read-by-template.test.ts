import { describe, expect, it } from 'vitest';
import { readByTemplate } from '../../../src/sandbox/provider-api/subscription-routes.ts';

const read = (template: never | object | string, body: unknown) =>
  readByTemplate(template as never, body as never);

describe('readByTemplate', () => {
  it('finds placeholders at any depth, with the type they have in the body', () => {
    const template = { a: { b: ['{url}', { c: '{events}' }] }, d: '{flag}', e: '{absent}' };
    const { values, extra } = read(template, { a: { b: ['x', { c: [1] }] }, d: false, more: null });
    expect([...values]).toEqual([
      ['url', 'x'],
      ['events', [1]],
      ['flag', false],
    ]);
    expect(extra).toEqual({ more: null });
  });

  it('reads a body that is the value itself', () => {
    expect(read('{executionId}', 'run-1').values.get('executionId')).toBe('run-1');
  });

  it('takes inherited names and __proto__ for fields like any other', () => {
    const { values, extra } = read({ toString: '{url}' }, JSON.parse('{"__proto__":{"x":1}}'));
    expect(values.size).toBe(0);
    expect(Object.keys(extra)).toEqual(['__proto__']);
  });

  it.each([
    [{ a: 1 }, { a: 2 }, '/a must be 1.'],
    [{ a: 'x' }, {}, '/a must be "x".'],
    [{ a: { b: '{url}' } }, { a: 7 }, '/a must be an object.'],
    [['{url}'], {}, 'The body must be a list.'],
    [{ a: '{url}' }, [], 'The body must be an object.'],
  ])('refuses %j against %j', (template, body, message) => {
    expect(() => read(template, body)).toThrow(message);
  });
});
