import { describe, expect, it } from 'vitest';
import { TooLong } from '../../src/avro/avro-writer.ts';
import { HEADER_LENGTH } from '../../src/avro/record-codec.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { ClaimCheck } from '../../src/delivery/claim-check.ts';
import { identifyDelivery, publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { ReusedMemory } from '../../src/ingress/large-body/reused-memory.ts';
import { deliveryParts, headersOf, verified } from '../support/delivery-parts.ts';
import { eventSchemasWith, ownEventSchemas } from '../support/event-schemas.ts';
import { manualClock } from '../support/manual-clock.ts';
import { scriptedBodies } from '../support/scripted-object-store.ts';
import { sealBody } from '../support/seal.ts';
import { readVectors, type SealedVectors } from '../support/vectors.ts';

/** A list whose items are no objects: two bytes become a record of six nulls. */
const sparse = (count: number) =>
  `{"type":"payment-status","entityId":"e-1","payload":{"status":"ACCC","pacs002":{"FIToFIPmtStsRpt":{"TxInfAndSts":[${'0,'.repeat(count - 1)}0]}}}}`;
const message = sparse(10_000);
const TOO_LITTLE = 2 * message.length;
const ENOUGH = 5 * message.length;

const decode = ({ value }: OutgoingRecord) =>
  ownEventSchemas()
    .all.find(({ topic }) => topic === 'payment-status')!
    .codec.decode(value!.subarray(HEADER_LENGTH));

describe('an event whose record is longer than there is memory for', () => {
  it('is not stored while there is more for one that is worked on alone', async () => {
    const parts = deliveryParts();
    const recordRoom = { bytes: TOO_LITTLE, isShare: true };
    await expect(publishDelivery(verified(message), { ...parts, recordRoom })).rejects.toThrow(TooLong);
    expect(parts.seen.records).toEqual([]);
    await publishDelivery(verified(message), { ...parts, recordRoom: { bytes: ENOUGH, isShare: true } });
    expect(parts.seen.records.map(({ topic }) => topic)).toEqual(['payments.payment-status']);
    expect(parts.seen.drift).toHaveLength(1);
  });

  it('becomes a dead-letter record where there is no more, under its own event id', async () => {
    const parts = deliveryParts();
    const { eventId } = identifyDelivery(verified(message), parts);
    const recordRoom = { bytes: TOO_LITTLE, isShare: false };
    const receipt = await publishDelivery(verified(message), { ...parts, recordRoom });
    expect(receipt).toEqual({ eventId, stored: 'kafka' });
    const [record] = parts.seen.records as [OutgoingRecord];
    expect(String(record.value)).toBe(message);
    expect(headersOf(record)).toMatchObject({
      '__connect.errors.stage': 'PRODUCE',
      '__connect.errors.exception.class.name': 'RECORD_TOO_LARGE',
      '__connect.errors.exception.message': expect.stringContaining(`more than ${TOO_LITTLE} bytes`),
      '__connect.errors.topic': 'payments.payment-status',
    });
    expect(parts.seen.deadLettered).toEqual(['PRODUCE']);
  });

  it('gives back its opened message', async () => {
    const { encryptionKey } = readVectors<SealedVectors>('sealed.json');
    const memory = new ReusedMemory();
    const taken: Buffer[] = [];
    const take = (bytes: number) => {
      const one = memory.take(bytes);
      taken.push(one);
      return one;
    };
    const ports = {
      ...deliveryParts(),
      memory: {
        headroom: memory.headroom,
        take,
        give: memory.give.bind(memory),
        drop: memory.drop.bind(memory),
      },
      recordRoom: { bytes: TOO_LITTLE, isShare: true },
    };
    const sealed = verified(sealBody(encryptionKey, message), 'octet-stream');
    await expect(publishDelivery(sealed, ports)).rejects.toThrow(TooLong);
    expect(taken.filter((one) => memory.owns(one))).toEqual([]);
  });

  it('refers to its message with an object store, its long lists left out as ever', async () => {
    const { bodies, store } = scriptedBodies(manualClock());
    const parts = deliveryParts({ claims: new ClaimCheck(bodies, 2_000) });
    // There is as much as the record may have: more would change nothing.
    await publishDelivery(verified(message), { ...parts, recordRoom: { bytes: 2_000, isShare: true } });
    const [record] = parts.seen.records as [OutgoingRecord];
    const omitted = ['pacs002.FIToFIPmtStsRpt.TxInfAndSts'];
    expect(decode(record)).toMatchObject({ status: 'ACCC', source: null, sourceRef: { omitted } });
    expect([...store.objects.values()].map(String)).toEqual([message]);
  });

  it('of a message that fits its record beside no list refers to it too', async () => {
    const { bodies } = scriptedBodies(manualClock());
    const small = sparse(500);
    const parts = deliveryParts({ claims: new ClaimCheck(bodies, small.length + 1_500) });
    await publishDelivery(verified(small), parts);
    const [record] = parts.seen.records as [OutgoingRecord];
    expect(decode(record)).toMatchObject({
      source: null,
      sourceRef: { omitted: ['pacs002.FIToFIPmtStsRpt.TxInfAndSts'] },
    });
  });

  it('is asked for alone too where its type keeps no message', async () => {
    const parts = deliveryParts({ events: eventSchemasWith({ 'payment-status': 'omit' }) });
    const typed = message.replaceAll('0,', '{},').replace('0]', '{}]');
    const room = (bytes: number, isShare: boolean) => ({ ...parts, recordRoom: { bytes, isShare } });
    await expect(publishDelivery(verified(typed), room(50_000, true))).rejects.toThrow(TooLong);
    await publishDelivery(verified(typed), room(70_000, true));
    await publishDelivery(verified(typed), room(50_000, false));
    expect(parts.seen.deadLettered).toEqual(['ENCODE']);
    expect(parts.seen.records.map(({ topic }) => topic)).toEqual([
      'payments.payment-status',
      'payments.dead-letter',
    ]);
  });
});
