import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLarge, LARGE_BODY_BYTES } from '../../src/core/delivery.ts';
import { openMessage } from '../../src/delivery/open-message.ts';
import { identifyDelivery, publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { readEvent } from '../../src/delivery/read-event.ts';
import { jsonText } from '../avro/transcode/json-text.ts';
import { deliveryParts, headersOf, verified } from '../support/delivery-parts.ts';
import { mappingOf } from '../support/map-objects.ts';

const TYPES = ['payment-status', 'payment_status', 'collection-status', 'unheard-of'];
const NAMES = ['type', 'entityId', 'payload', 'status', 'pacs002', 'FIToFIPmtStsRpt', 'TxInfAndSts'];

const parts = deliveryParts();

/** What is known of the record by way of objects. */
function expected(source: string) {
  const json = JSON.parse(source) as { type?: unknown };
  const { topic, schema } = parts.routes.of(json?.type, 'ledger-eu');
  const mapped = mappingOf(schema.codec.schema)(json, () => {});
  return { topic, mapped };
}

function made(source: string) {
  const { own, opened } = openedAs(source);
  const { record } = readEvent(opened, own).encode(false);
  const { schema } = own.routes.all.find(({ topic }) => topic === record.topic) ?? expect.fail('no route');
  return { record, decoded: schema.codec.decode((record.value as Buffer).subarray(5)), seen: own.seen };
}

function openedAs(source: string) {
  // In this layout what is not an object is a message too.
  const own = deliveryParts({ layout: 'json' });
  return { own, opened: openMessage(verified(source), own, (opened) => opened) };
}

const large = (text: string) => verified(text + ' '.repeat(LARGE_BODY_BYTES));

describe('a message', () => {
  it('with an empty type has that of its topic in its headers: CloudEvents knows no empty one', () => {
    for (const source of ['{"type":""}', '{"type":null}', '{}']) {
      const { own, opened } = openedAs(source);
      expect(headersOf(readEvent(opened, own).encode(false).record).ce_type).toBe('unclassified');
    }
  });

  it('becomes the record of its type, keyed by its entity', () => {
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
          const source = `{${members.join(',')}}`;
          const { topic, mapped } = expected(source);
          const { record, decoded, seen } = made(source);
          expect({ topic: record.topic, ...decoded }).toMatchObject({ topic, ...mapped, source });
          const hasEntity = entityId === '"e-1"';
          expect(record.key.toString()).toBe(hasEntity ? 'e-1' : decoded.eventId);
          const { ce_type, ce_subject } = headersOf(record);
          expect([ce_type, ce_subject]).toEqual([type, hasEntity ? 'e-1' : undefined]);
          expect(seen.unclassified).toBe(type === 'unheard-of' ? 1 : 0);
          topics.add(topic);
        },
      ),
      { numRuns: 500 },
    );
    expect(topics.size).toBe(3);
  });

  it('whose beginning names another type leaves nothing of what was read for that one', () => {
    const list = `[${'{"TxSts":"0123456789"},'.repeat(400_000)}{}]`;
    const payload = `{"pacs002":{"FIToFIPmtStsRpt":{"TxInfAndSts":${list}}}}`;
    const { opened, own } = openedAs(
      `{"type":"payment-status","payload":${payload},"type":"collection-status"}`,
    );
    const before = process.memoryUsage().arrayBuffers;
    readEvent(opened, own);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  });

  it.each([
    ['named twice', '{"type":"collection-status","entityId":"a","type":"payment-status"}', 'payment-status'],
    ['spelt with an escape', '{"type":"payment\\u002dstatus"}', 'payment-status'],
    ['after a space', ' { "type" : "payment_status" }', 'payment-status'],
    ['cut off by an escape', '{"type":"payment-status\\u0041"}', 'unclassified'],
    ['no text', '{"type":7}', 'unclassified'],
    ['no member', '[{"type":"payment-status"}]', 'unclassified'],
  ])('is routed by its type, however it stands there: %s', (_, source, topic) => {
    expect(made(source).record.topic).toBe(`payments.${topic}`);
  });
});

describe('a large message', () => {
  it('is stored, and known by the id that it is stored with', async () => {
    const parts = deliveryParts();
    const delivery = large('{"type":"payment-status","entityId":"entity-7"}');
    expect(isLarge(delivery)).toBe(true);
    const { eventId } = await publishDelivery(delivery, parts);
    expect(identifyDelivery(delivery, parts).eventId).toBe(eventId);
    expect(parts.seen.records.map(({ topic, key }) => `${topic} ${key}`)).toEqual([
      'payments.payment-status entity-7',
    ]);
  });

  it.each([
    ['no JSON', Buffer.from('{"type":"payment-status"')],
    ['no UTF-8', Buffer.from('{"type":"\xff"}', 'latin1')],
  ])('that is %s is dead-lettered', async (_, bytes) => {
    const parts = deliveryParts();
    const delivery = verified(Buffer.concat([bytes, Buffer.alloc(LARGE_BODY_BYTES, ' ')]));
    const { eventId } = await publishDelivery(delivery, parts);
    expect(parts.seen.deadLettered).toEqual(['PARSE']);
    expect(identifyDelivery(delivery, parts).eventId).toBe(eventId);
  });
});
