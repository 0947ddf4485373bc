import { expect, it } from 'vitest';
import { recordsOf } from '../../../src/console/events/show-events.ts';

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
