import { expect, it } from 'vitest';
import { filterOf, matches } from '../../../src/console/events/filter.ts';

const record = {
  topic: 't',
  partition: 0,
  offset: 0n,
  key: Buffer.from('e-1'),
  value: null,
  timestamp: 0,
  headers: { ce_id: 'id-1', ce_type: 'a', ce_source: '/webhooks/eu', ce_subject: 'e-1' },
};
const deadLetter = { ...record, headers: { 'hookline.ref': 'eu', 'hookline.event-id': 'id-1' } };

it.each([
  [{}, true],
  [{ key: 'e-1', type: 'a', ref: 'eu', id: 'id-1' }, true],
  [{ key: 'e-2' }, false],
  [{ type: 'b' }, false],
  [{ ref: 'us' }, false],
  [{ id: 'id-2' }, false],
])('by key and headers: %o', (filter, expected) => {
  expect(matches(record, filter)).toBe(expected);
});

it('by the entity, where the key is another one', () => {
  expect(matches({ ...record, key: null }, { key: 'e-1' })).toBe(true);
});

it('of dead-letter records too', () => {
  expect(matches(deadLetter, { ref: 'eu', id: 'id-1' })).toBe(true);
  expect(matches(deadLetter, { ref: 'us' })).toBe(false);
});

it('takes conditions of an address, and leaves out what is empty or unknown', () => {
  expect(filterOf({ key: 'e-1', type: '', color: 'red' })).toEqual({ key: 'e-1' });
});
