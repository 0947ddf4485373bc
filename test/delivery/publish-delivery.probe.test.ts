import { expect, it } from 'vitest';
import { HEADER_LENGTH } from '../../src/avro/record-codec.ts';
import { identifyDelivery, publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { deliveryParts, headersOf, verified } from '../support/delivery-parts.ts';
import { ownEventSchemas } from '../support/event-schemas.ts';

const PROBE = '{"type":"hookline-probe","entityId":"p-1"}';
const throughProbeRef = (body: string) => ({ ...verified(body), ref: 'hookline-probe' });

it('a probe goes to the topic of probes, keyed by its id, and is counted as no unclassified event', async () => {
  const parts = deliveryParts();
  const { eventId } = await publishDelivery(throughProbeRef(PROBE), parts);
  const [record] = parts.seen.records;
  expect(record).toMatchObject({ topic: 'payments.probe', key: Buffer.from('p-1') });
  expect(headersOf(record!)).toMatchObject({ ce_id: eventId, ce_type: 'hookline-probe', ce_subject: 'p-1' });
  expect(ownEventSchemas().probe.codec.decode(record!.value!.subarray(HEADER_LENGTH))).toMatchObject({
    eventId,
    type: 'hookline-probe',
    entityId: 'p-1',
    subscription: 'hookline-probe',
    source: PROBE,
  });
  expect(parts.seen).toMatchObject({ unclassified: 0, deadLettered: [] });
});

it.each(['payment-status', 'payment_status', 'unheard-of', 'hookline-probes', ''])(
  'a message of type %j through the ref of probes enters neither an event topic nor that of probes',
  async (type) => {
    const parts = deliveryParts();
    const delivery = throughProbeRef(`{"entityId":"e-1","type":"${type}"}`);
    const { eventId } = await publishDelivery(delivery, parts);
    expect(parts.seen.records.map(({ topic }) => topic)).toEqual(['payments.dead-letter']);
    expect(headersOf(parts.seen.records[0]!)).toMatchObject({
      '__connect.errors.stage': 'ENCODE',
      '__connect.errors.exception.class.name': 'NOT_A_PROBE',
    });
    expect(identifyDelivery(delivery, parts).eventId).toBe(eventId);
  },
);

it.each([
  ['of the type of probes', PROBE],
  ['that has it last', '{"entityId":"p-1","type":"hookline-probe"}'],
])('a message %s through another ref is an event of an unknown type', async (_, body) => {
  const parts = deliveryParts();
  await publishDelivery(verified(body), parts);
  expect(parts.seen.records.map(({ topic }) => topic)).toEqual(['payments.unclassified']);
  expect(parts.seen.unclassified).toBe(1);
});

it('no file of SCHEMAS_DIR takes the topic of probes, and one that takes their type takes no probe', () => {
  const schemas = ownEventSchemas();
  expect(schemas.all.map(({ topic }) => topic)).not.toContain('probe');
  expect(schemas.claiming('hookline-probe')).toBeUndefined();
  expect(schemas.registered).toContain(schemas.probe);
});
