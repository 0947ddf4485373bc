import { expect, it } from 'vitest';
import { filterOptions, selectionOf } from '../../../src/console/dead-letters/selection.ts';
import { PageError } from '../../../src/console/page/page.ts';
import { deadLetter } from '../../support/dead-letter.ts';

it('takes the conditions of --filter from an address or a form, and nothing else', () => {
  const { conditions, filter, parsed } = selectionOf({
    stage: 'DECRYPT',
    ref: ' eu ',
    code: '',
    page: '2',
    x: {},
    at: null,
  });
  expect(conditions).toEqual({ stage: 'DECRYPT', ref: 'eu' });
  expect(filter).toEqual(['stage=DECRYPT', 'ref=eu']);
  expect(parsed.matches(deadLetter({ ref: 'eu' }))).toBe(true);
  expect(parsed.matches(deadLetter({ ref: 'us' }))).toBe(false);
});

it('takes all values of a field that came several times, or of a list, and nothing that is no text', () => {
  expect(selectionOf({ ref: ['eu', ' us '], at: ['0:1'] }).filter).toEqual(['ref=eu,us', 'at=0:1']);
  expect(() => selectionOf({ id: 7 })).toThrow('id must be text.');
  expect(() => selectionOf({ ref: ['eu', {}] })).toThrow('ref must be text.');
});

it('says what is wrong as the CLI does', () => {
  expect(() => selectionOf({ stage: 'NONE' })).toThrow(PageError);
  expect(() => selectionOf({ stage: 'NONE' })).toThrow('unknown stage; give DECRYPT');
});

it('bounds a condition, and says what to do', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `event-${n}`).join(',');
  expect(selectionOf({ id: ids(300) }).parsed.matches(deadLetter({ eventId: 'event-7' }))).toBe(true);
  expect(() => selectionOf({ id: ids(1_000) })).toThrow(PageError);
  expect(() => selectionOf({ id: ids(1_000) })).toThrow(/^id has 9889 characters, and 4000 at most/);
});

it('makes the options of a command line', () => {
  expect(filterOptions(['stage=PARSE', "ref=a'b"])).toBe(` --filter stage=PARSE --filter 'ref=a'\\''b'`);
  expect(filterOptions([])).toBe('');
});
