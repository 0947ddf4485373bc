import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OpenedMessage } from '../../src/core/delivery.ts';
import { storeDelivery } from '../../src/delivery/accept-delivery.ts';
import { deliveryIdOf } from '../../src/delivery/delivery-id.ts';
import { encodeEvent } from '../../src/delivery/encode-event.ts';
import { isLarge, LARGE_BODY_BYTES } from '../../src/delivery/large-delivery.ts';
import { openMessage } from '../../src/delivery/open-message.ts';
import { readMessage } from '../../src/delivery/read-message.ts';
import { transcodeEvent } from '../../src/delivery/transcode-event.ts';
import { jsonText } from '../avro/transcode/json-text.ts';
import { deliveryParts, headersOf, verified } from '../support/delivery-parts.ts';

const TYPES = ['payment-status', 'payment_status', 'collection-status', 'unheard-of'];
const NAMES = ['type', 'entityId', 'payload', 'status', 'pacs002', 'FIToFIPmtStsRpt', 'TxInfAndSts'];

type Way = (opened: OpenedMessage, parts: ReturnType<typeof deliveryParts>) => ReturnType<typeof encodeEvent>;
const WAYS: readonly Way[] = [
  (opened, parts) => encodeEvent(readMessage(opened), parts),
  (opened, parts) => transcodeEvent(opened, parts).record(),
];

function both(source: string) {
  return WAYS.map((way) => {
    const parts = deliveryParts();
    const record = way(openMessage(verified(source), parts), parts);
    const { drift, unclassified } = parts.seen;
    const { topic, key, value } = record;
    const seen = { drift: drift.toSorted(), unclassified };
    return {
      topic,
      key: key.toString('hex'),
      value: value?.toString('hex'),
      headers: headersOf(record),
      ...seen,
    };
  });
}

const large = (text: string) => verified(text + ' '.repeat(LARGE_BODY_BYTES));

describe('a large message', () => {
  it('becomes the very record that it would become by way of objects', () => {
    const topics = new Set<string>();
    fc.assert(
      fc.property(
        fc.constantFrom(...TYPES),
        fc.constantFrom('"e-1"', '""', '7', '"\\ud800"'),
        jsonText(NAMES),
        fc.boolean(),
        (type, entityId, payload, isLast) => {
          const head = [`"entityId":${entityId}`, `"payload":${payload}`];
          const members = isLast ? [...head, `"type":"${type}"`] : [`"type":"${type}"`, ...head];
          const [byObjects, byBytes] = both(`{${members.join(',')}}`);
          expect(byBytes).toEqual(byObjects);
          topics.add(byObjects?.topic ?? '');
        },
      ),
      { numRuns: 500 },
    );
    expect(topics.size).toBe(3);
  });

  it.each([
    ['named twice', '{"type":"collection-status","entityId":"a","type":"payment-status"}'],
    ['spelt with an escape', '{"type":"payment\\u002dstatus"}'],
    ['no text', '{"type":7}'],
    ['no object', '[{"type":"payment-status"}]'],
  ])('is routed by its type, however it stands there: %s', (_, source) => {
    const [byObjects, byBytes] = both(source);
    expect(byBytes).toEqual(byObjects);
  });

  it('is stored, and known by the id that it is stored with', async () => {
    const parts = deliveryParts();
    const delivery = large('{"type":"payment-status","entityId":"entity-7"}');
    expect(isLarge(delivery)).toBe(true);
    const { eventId } = await storeDelivery(delivery, parts);
    expect(deliveryIdOf(delivery, parts)).toBe(eventId);
    expect(parts.seen.records.map(({ topic, key }) => `${topic} ${key}`)).toEqual([
      'payments.payment-status entity-7',
    ]);
  });

  it.each([
    ['no JSON', Buffer.from('{"type":"payment-status"')],
    ['no UTF-8', Buffer.from('{"type":"\xff"}', 'latin1')],
  ])('that is %s is parked among the dead letters', async (_, bytes) => {
    const parts = deliveryParts();
    const delivery = verified(Buffer.concat([bytes, Buffer.alloc(LARGE_BODY_BYTES, ' ')]));
    const { eventId } = await storeDelivery(delivery, parts);
    expect(parts.seen.parked).toEqual(['PARSE']);
    expect(deliveryIdOf(delivery, parts)).toBe(eventId);
  });
});
