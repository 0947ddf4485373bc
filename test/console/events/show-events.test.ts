import { expect, it } from 'vitest';
import { eventsOf, recordsOf, tailOf } from '../../../src/console/events/show-events.ts';
import type { PageRequest } from '../../../src/console/page/page.ts';

it.each([
  ['payments.audit', 'event', 'audit trail'],
  ['payments.probe', 'event', 'probes'],
  ['payments.payment-status', 'event', 'events'],
  ['payments.commands', 'command', 'commands'],
  // The topic of another installation's team.
  ['other.audit', 'command', 'commands'],
] as const)('what %s holds is named by what it is', (topic, kind, records) => {
  expect(recordsOf(topic, kind, 'payments')).toBe(records);
});

const REQUEST = { may: () => false, query: {} } as Partial<PageRequest> as PageRequest;
const NONE = { at: null, filter: {}, records: [], looked: 0, total: 0 };

it.each([
  ['payments.payment-status', 'events', 'Ingress writes an event here for each webhook'],
  ['payments.dead-letter', 'dead-letter records', 'There is nothing to do.'],
  ['payments.audit', 'audit trail', 'What users of the console change'],
] as const)('says of %s without records that it is empty, and what comes there', (topic, holds, words) => {
  const page = String(eventsOf({ ...NONE, topic, holds }, REQUEST));
  expect(page).toContain('The topic is empty');
  expect(page).toContain(words);
  // The script shows it, which makes it true.
  expect(page).toContain('data-if-live hidden>A record that arrives appears here.');
  expect(page).not.toContain('0 shown');
});

it('says of a filter without records how far it looked, and where else to search', () => {
  const filter = { key: 'e-1&2' };
  const given = {
    ...NONE,
    topic: 'payments.payment-status',
    holds: 'events',
    filter,
    looked: 5_000,
    total: 90_000,
  } as const;
  const page = String(eventsOf(given, REQUEST));
  expect(page).toContain('None of the latest 5000 of 90000 offsets has such a record.');
  expect(page).toContain('href="/find?q=e-1%262"');
  expect(page).not.toContain('empty');
});

it('names the command that shows the records of the page, not only those that arrive afterwards', () => {
  const times = ['2026-01-01T10:00:01.000Z', '2026-01-01T10:00:00.250Z'];
  expect(
    tailOf(
      'payments.payment-status',
      times.map((time) => ({ time })),
    ),
  ).toBe('hookline tail payments.payment-status --since 2026-01-01T10:00:00.250Z');
  expect(tailOf('t', [{ time: 'no time (1e20)' }])).toBe('hookline tail t');
});
