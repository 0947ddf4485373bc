import { describe, expect, it } from 'vitest';
import { type EventSchemaSet, readEventSchemas, type SourcePolicy } from '../../src/avro/event-schema.ts';
import { HEADER_LENGTH } from '../../src/avro/record-codec.ts';
import { readSchemaFiles } from '../../src/avro/schema-files.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { parseSealingKeys } from '../../src/crypto/sealing.ts';
import { ClaimCheck } from '../../src/delivery/claim-check.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { deliveryParts, headersOf, verified } from '../support/delivery-parts.ts';
import { eventSchemasWith, field, schemaText } from '../support/event-schemas.ts';
import { manualClock } from '../support/manual-clock.ts';
import { scriptedBodies } from '../support/scripted-object-store.ts';

const bodySealing = parseSealingKeys(Buffer.from('ab'.repeat(32))) ?? expect.fail('no key');

const start = (policies: Readonly<Record<string, SourcePolicy>>, hasStore = true, limit = 1_048_588) =>
  startWith(eventSchemasWith(policies), hasStore, limit);

/** @param hasStore whether BODY_STORE is set */
function startWith(events: EventSchemaSet, hasStore: boolean, limit = 1_048_588) {
  const { bodies, store } = scriptedBodies(manualClock());
  const claims = hasStore ? { claims: new ClaimCheck(bodies, 900_000) } : {};
  const delivery = deliveryParts({ ...claims, events, bodySealing, limitOf: () => limit });
  const decode = ({ topic, value }: OutgoingRecord) =>
    events.all
      .find((schema) => topic === `payments.${schema.topic}`)!
      .codec.decode(value!.subarray(HEADER_LENGTH));
  return { delivery, store, decode };
}

const typed = '{"type":"payment-status","entityId":"e-1","payload":{"status":"ACCC"}}';
const drifted = '{"type":"payment-status","entityId":"e-1","payload":{"status":7}}';

/** Where the text is readable: in values of records, in the object store. */
const places = (text: string, { delivery, store }: ReturnType<typeof start>) => [
  delivery.seen.records.filter(({ value }) => value?.includes(text)).length,
  [...store.objects.values()].filter((object) => object.includes(text)).length,
];

describe('a type that keeps its messages', () => {
  it('has them in its records, with drift or without', async () => {
    const parts = start({});
    for (const message of [typed, drifted]) await publishDelivery(verified(message), parts.delivery);
    expect(parts.delivery.seen.records.map((record) => parts.decode(record).source)).toEqual([
      typed,
      drifted,
    ]);
    expect(parts.store.objects.size).toBe(0);
  });
});

describe('a type with "reference"', () => {
  it('has every message in the object store, however small', async () => {
    const parts = start({ 'payment-status': 'reference' });
    for (const message of [typed, drifted]) await publishDelivery(verified(message), parts.delivery);
    const [first, second] = parts.delivery.seen.records.map(parts.decode);
    expect(first).toMatchObject({ source: null, status: 'ACCC', sourceRef: { bytes: typed.length } });
    expect(second).toMatchObject({ source: null, status: null, sourceRef: { bytes: drifted.length } });
    expect(parts.delivery.seen.drift).toEqual(['payments.payment-status status']);
    expect([places(typed, parts), places(drifted, parts)]).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('stores nothing where the object store takes nothing', async () => {
    const parts = start({ 'payment-status': 'reference' });
    parts.store.fateOf = () => 'refused';
    await expect(publishDelivery(verified(typed), parts.delivery)).rejects.toMatchObject({
      code: 'BODY_STORE_REFUSED',
    });
    expect(parts.delivery.seen.records).toEqual([]);
  });
});

describe('values of one field that do not fit', () => {
  it.each(['keep', 'reference', 'omit'] as const)(
    'are reported together, however many they are (%s)',
    async (policy) => {
      const items = Array(1_000).fill('1').join(',');
      const message = `{"type":"payment-status","payload":{"pacs002":{"FIToFIPmtStsRpt":{"TxInfAndSts":[${items}]}}}}`;
      for (const hasStore of [true, policy !== 'keep']) {
        const { delivery } = start({ 'payment-status': policy }, hasStore);
        await publishDelivery(verified(message), delivery);
        expect(delivery.seen.drift).toEqual([expect.stringMatching(/TxInfAndSts\[\], 1000 values$/)]);
      }
    },
  );
});

describe('a type with "omit"', () => {
  it('keeps no message of an event without drift', async () => {
    const parts = start({ 'payment-status': 'omit' });
    await publishDelivery(verified(typed), parts.delivery);
    expect(parts.delivery.seen.records.map(parts.decode)).toMatchObject([
      { source: null, sourceRef: null, status: 'ACCC', entityId: 'e-1' },
    ]);
    expect(places('payload', parts)).toEqual([0, 0]);
  });

  it('has a message in the object store whose values do not fit into the record: no value is only left out', async () => {
    const parts = start({ 'payment-status': 'omit' }, true, 4_000);
    const rows = Array.from({ length: 200 }, (_, n) => ({ OrgnlInstrId: `i-${n}`, TxSts: 'ACSC' }));
    const payload = { pacs002: { FIToFIPmtStsRpt: { TxInfAndSts: rows } } };
    const message = JSON.stringify({ type: 'payment-status', entityId: 'e-1', payload });
    await publishDelivery(verified(message), parts.delivery);
    expect(parts.delivery.seen.drift).toEqual([]);
    expect(parts.delivery.seen.records.map(parts.decode)).toMatchObject([
      {
        source: null,
        sourceRef: { bytes: message.length, omitted: [expect.stringContaining('TxInfAndSts')] },
      },
    ]);
    expect(String([...parts.store.objects.values()][0])).toBe(message);
  });

  it('has a message with drift in the object store: the values that do not fit are there alone', async () => {
    const parts = start({ 'payment-status': 'omit' });
    await publishDelivery(verified(drifted), parts.delivery);
    expect(parts.delivery.seen.records.map(parts.decode)).toMatchObject([
      { source: null, status: null, sourceRef: { bytes: drifted.length, omitted: [] } },
    ]);
    expect(parts.delivery.seen.drift).toEqual(['payments.payment-status status']);
    expect(places(drifted, parts)).toEqual([0, 1]);
  });

  it('has it in a sealed dead-letter record without an object store, and loses nothing', async () => {
    const parts = start({ 'payment-status': 'omit' }, false);
    await publishDelivery(verified(drifted), parts.delivery);
    const [record] = parts.delivery.seen.records as [OutgoingRecord];
    expect(record.topic).toBe('payments.dead-letter');
    expect(headersOf(record)).toMatchObject({
      '__connect.errors.stage': 'ENCODE',
      '__connect.errors.exception.message': expect.stringContaining('BODY_STORE is not set'),
    });
    expect(places('payload', parts)).toEqual([0, 0]);
    // Without drift it needs neither.
    await publishDelivery(verified(typed), parts.delivery);
    expect(parts.delivery.seen.records.at(-1)?.topic).toBe('payments.payment-status');
  });
});

describe('a number that its field would round', () => {
  const rounded = '{"type":"example","entityId":"e-1","payload":{"list":[12345678901234567.89]}}';
  const list = field('list', { type: 'array', items: ['null', 'double'] });
  const start = (source: SourcePolicy, hasStore: boolean) =>
    startWith(
      readEventSchemas([
        ...readSchemaFiles(undefined, 'events'),
        { name: 'example.avsc', text: schemaText([list], { source }) },
      ]),
      hasStore,
    );

  it('is drift with "omit": the object store has the message, and the record no changed amount', async () => {
    const parts = start('omit', true);
    await publishDelivery(verified(rounded), parts.delivery);
    expect(parts.delivery.seen.records.map(parts.decode)).toMatchObject([
      { source: null, list: [null], sourceRef: { bytes: rounded.length, omitted: [] } },
    ]);
    expect(parts.delivery.seen.drift).toEqual(['payments.example list[]']);
    expect(String([...parts.store.objects.values()][0])).toBe(rounded);
  });

  it('is in a sealed dead-letter record with "omit" and no object store', async () => {
    const parts = start('omit', false);
    await publishDelivery(verified(rounded), parts.delivery);
    const [record] = parts.delivery.seen.records as [OutgoingRecord];
    expect(record.topic).toBe('payments.dead-letter');
    expect(headersOf(record)).toMatchObject({ '__connect.errors.stage': 'ENCODE' });
  });

  it('is no drift with "keep": the message has it exactly', async () => {
    const parts = start('keep', true);
    await publishDelivery(verified(rounded), parts.delivery);
    expect(parts.delivery.seen.records.map(parts.decode)).toMatchObject([
      { source: rounded, list: [12345678901234568] },
    ]);
    expect(parts.delivery.seen.drift).toEqual([]);
  });
});

describe('a body whose type cannot be read', () => {
  const malformed = `${typed},`;

  it('is sealed as soon as one type does not keep its messages: it may be of that one', async () => {
    const parts = start({ 'collection-status': 'omit' });
    await publishDelivery(verified(malformed), parts.delivery);
    expect(places('payload', parts)).toEqual([0, 0]);
  });

  it('is readable where all types keep theirs', async () => {
    const { bodySealing: _, ...parts } = deliveryParts();
    await publishDelivery(verified(malformed), parts);
    expect(String(parts.seen.records[0]?.value)).toBe(malformed);
  });
});
