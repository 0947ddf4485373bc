import { expect, it } from 'vitest';
import { hashOf, termsOf } from '../../../src/console/index/terms.ts';

const record = (headers: Record<string, string>, key: string | null = null) => ({
  headers,
  key: key === null ? null : Buffer.from(key),
});

it('finds an event by its id, its entity and its ref', () => {
  const headers = { ce_id: 'id', ce_subject: 'entity', ce_source: '/webhooks/eu', ce_type: 'a' };
  expect([...termsOf('event', record(headers, 'entity'))]).toEqual(['id', 'entity', 'eu']);
});

it('finds a dead-letter record by event id, ref, command, subscription and key', () => {
  const headers = { 'hookline.event-id': 'id', 'hookline.ref': 'eu', 'hookline.subscription-id': 's' };
  expect([...termsOf('dead letter', record(headers, 'k'))]).toEqual(['id', 'eu', 's', 'k']);
});

it('finds a command by what its value says, and by its key alone where it says nothing', () => {
  expect([...termsOf('command', record({}, 'eu'), { commandId: 'c', ref: 'eu', type: 'x' })]).toEqual([
    'c',
    'eu',
  ]);
  expect([...termsOf('result', record({}, 'c'))]).toEqual(['c']);
  expect([...termsOf('state', record({}), { ref: { toString: null }, commandId: '' })]).toEqual([]);
});

it('makes numbers that JavaScript and SQLite hold exactly, and that differ', () => {
  const hashes = Array.from({ length: 200_000 }, (_, n) => hashOf(`entity-${n}`));
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(hashes.every((hash) => Number.isSafeInteger(hash) && hash >= 0)).toBe(true);
});
