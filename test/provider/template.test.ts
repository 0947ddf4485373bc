import { describe, expect, it } from 'vitest';
import { fillTemplate, placeholdersIn } from '../../src/provider/template.ts';

const values = { url: 'https://x', events: ['a', 'b'], n: 5, none: undefined };

describe('a template', () => {
  it.each([
    ['a placeholder alone takes its value with its type', '{events}', ['a', 'b']],
    ['a number stays a number', { n: '{n}' }, { n: 5 }],
    ['a placeholder in a text is put in as text', 'to {url}?n={n}', 'to https://x?n=5'],
    ['a field whose placeholder has no value is left out', { a: '{none}', b: 1 }, { b: 1 }],
    ['a text with a placeholder that has no value is left out', { a: 'x{none}' }, {}],
    ['an item without a value is left out', ['{none}', '{n}'], [5]],
    [
      'constants stay',
      { a: null, b: false, c: 'text', d: { e: [1] } },
      { a: null, b: false, c: 'text', d: { e: [1] } },
    ],
    ['braces around no name stay', '{} { } {a-b}', '{} { } {a-b}'],
    ['what is put in is not filled again', '{nested}', undefined],
  ])('%s', (_, template, filled) => {
    expect(fillTemplate(template, values)).toEqual(filled);
  });

  it('puts a value with braces in as it is', () => {
    expect(fillTemplate({ a: 'x{b}', c: '{b}' }, { b: '{url}$&' })).toEqual({ a: 'x{url}$&', c: '{url}$&' });
  });

  it('tells every placeholder that it asks for', () => {
    expect(placeholdersIn({ a: '{x} and {y}', b: ['{z}', 1, null], c: 'none' })).toEqual(['x', 'y', 'z']);
  });
});
