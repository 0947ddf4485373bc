import { expect, it } from 'vitest';
import { coverageSection, pageOf } from '../../../src/console/find/show-story.ts';
import { formValue, html } from '../../../src/console/page/html.ts';
import type { PageRequest } from '../../../src/console/page/page.ts';

/** An entity of a hostile sender. */
const ENTITY = 'pay\u202e"<1>\u200b';

const request: PageRequest = {
  params: {},
  query: { q: ENTITY },
  csrfField: html``,
  may: () => false,
  audit: async () => {},
  user: { name: 'u', roles: new Set(['view'] as const) },
  signal: new AbortController().signal,
};

it('has what is searched for in its forms as it was given: another text would be searched for', () => {
  const story = {
    wanted: ENTITY,
    lines: [],
    earlier: [],
    coverage: [],
    failure: null,
    scan: null,
    unsearched: 7,
  };
  const page = String(pageOf(story, request));
  const values = [...page.matchAll(/name="q" value="([^"]*)"/g)].map(([, value]) => value);
  expect(values).toEqual(Array.from({ length: 2 }, () => 'pay\u202e&quot;&lt;1&gt;\u200b'));
  expect(page).not.toContain('The story of pay\u202e');
});

it('says why nothing is indexed', () => {
  const failure = 'the brokers cannot be reached';
  expect(String(coverageSection({ coverage: [], failure }))).toContain(failure);
});

it('a value of a form is text, and cannot leave its place', () => {
  expect(String(formValue(`"'><b>&\ud800`))).toBe('&quot;&#39;&gt;&lt;b&gt;&amp;\ufffd');
  expect(String(formValue(undefined))).toBe('');
});
