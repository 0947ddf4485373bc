import { expect, it } from 'vitest';
import { recordsOf, tailOf } from '../../../src/console/events/show-events.ts';

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
