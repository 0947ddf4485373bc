import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createEventRoutes } from '../../src/delivery/event-routes.ts';
import { ownEventSchemas } from '../support/event-schemas.ts';

const [route] = createEventRoutes(ownEventSchemas(), 'payments', { of: () => 1 }).all;

const context = fc.record({
  eventId: fc.uuid(),
  ref: fc.constantFrom('ledger-eu', 'ledger-us', 'a'),
  type: fc.oneof(fc.constantFrom('payment-status', 'Überweisung'), fc.constant('t'.repeat(2_000))),
  entityId: fc.option(
    fc.oneof(fc.string({ maxLength: 200 }), fc.constant('e'.repeat(2_000))).map((text) => Buffer.from(text)),
  ),
  receivedAt: fc.constantFrom(1_795_168_800_000, 1_795_168_800_001, 0),
  traceparent: fc.option(fc.constant('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'), {
    nil: undefined,
  }),
});

it('each event has its own headers, whatever the one before has in common with it', () => {
  fc.assert(
    fc.property(fc.array(context, { minLength: 2, maxLength: 12 }), (events) => {
      for (const event of events) {
        const { eventId, ref, type, entityId, receivedAt, traceparent } = event;
        const headers = route?.headers(event) ?? expect.fail('no route');
        expect(headers.size).toBe([...headers].length);
        expect([...headers].map(([name]) => name.toString())).toEqual([
          ...['ce_id', 'ce_source', 'ce_type', 'ce_specversion', 'ce_time', 'content-type'],
          ...(entityId ? ['ce_subject'] : []),
          ...(traceparent === undefined ? [] : ['traceparent']),
        ]);
        expect(Object.fromEntries([...headers].map((header) => header.map(String)))).toEqual({
          ce_id: eventId,
          ce_source: `/webhooks/${ref}`,
          ce_type: type,
          ce_specversion: '1.0',
          ce_time: new Date(receivedAt).toISOString(),
          'content-type': 'application/avro',
          ...(entityId && { ce_subject: entityId.toString() }),
          ...(traceparent !== undefined && { traceparent }),
        });
      }
    }),
  );
});

it('an entity that is as long as a message is not copied for its header', () => {
  const entityId = Buffer.alloc(100_000, 'e');
  const [event = expect.fail()] = fc.sample(context, 1);
  const headers = [...(route?.headers({ ...event, entityId }) ?? expect.fail('no route'))];
  expect(headers.find(([name]) => name.equals(Buffer.from('ce_subject')))?.[1]).toBe(entityId);
});
