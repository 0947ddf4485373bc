import { expect, it } from 'vitest';
import { address, html } from '../../../src/console/page/html.ts';
import { HOSTILE } from '../../support/console-app.ts';

it('escapes text in content and in attributes, and leaves markup of its own', () => {
  const inner = html`<b title="${HOSTILE}">${HOSTILE}</b>`;
  const text = String(html`<p>${inner}${[inner, '<i>']}</p>`);
  expect(text.match(/<script|<i>/g)).toBeNull();
  expect(text.match(/<b title="&quot;&#39;&gt;&lt;script&gt;/g)?.length).toBe(2);
  expect(String(html`${inner}`)).toBe(String(inner));
});

it('shows what would be invisible or turn the text around', () => {
  expect(String(html`${'a\u202eb\u0000c\nd\ud800'}`)).toBe('a\\u202eb\\u0000c\nd\ufffd');
  // Two entities that differ in what has no picture.
  expect(String(html`${'pay\u200b-\u00ad\ufeff1\u3164\u{e0041}'}`)).toBe(
    'pay\\u200b-\\u00ad\\ufeff1\\u3164\\udb40\\udc41',
  );
});

it('takes absent values and false for nothing, and numbers as they are', () => {
  expect(String(html`${null}${undefined}${false}${0}${12n}${''}`)).toBe('012');
});

it('cannot be made to take text for markup', () => {
  const forged = { toString: () => '<script>', markup: '<script>' };
  expect(String(html`${forged as never}`)).toBe('&lt;script&gt;');
});

it('makes addresses whose parts cannot leave their place', () => {
  expect(address('/events', 'a/b?c')).toBe('/events/a%2Fb%3Fc');
  expect(address('/find', { q: 'x&y=1', ref: '' })).toBe('/find?q=x%26y%3D1');
  expect(address('/', 'javascript:alert(1)')).toBe('/javascript%3Aalert(1)');
});
