import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import type { OutgoingRecord, Position } from '../../src/core/record.ts';
import { encryptionKey } from '../../src/crypto/keys.ts';
import { parseSealingKeys } from '../../src/crypto/sealing.ts';
import { type DeadLetter, DeadLetterIndex } from '../../src/dead-letters/dead-letters.ts';
import type { Redelivery } from '../../src/dead-letters/open-redelivery.ts';
import { redriveDelivery } from '../../src/dead-letters/redrive-delivery.ts';
import { redriveOne } from '../../src/dead-letters/redrive-one.ts';
import type { DeliveryPorts } from '../../src/delivery/ports.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { deliveryParts, headersOf, subscriptionId, verified } from '../support/delivery-parts.ts';
import { eventSchemasWith } from '../support/event-schemas.ts';
import { sealBody } from '../support/seal.ts';
import { readVectors, type SealedVectors } from '../support/vectors.ts';

/** The deadLetter that records of the dead-letter topic make up. */
function deadLetterOf(records: readonly OutgoingRecord[]): DeadLetter {
  const index = new DeadLetterIndex();
  for (const [n, record] of records.entries()) {
    const bytes = record.value?.length ?? 0;
    const at = { partition: 0, offset: BigInt(n), timestamp: 1_000 };
    index.take({ ...at, key: record.key.toString(), bytes, headers: headersOf(record) });
  }
  return index.deadLetters()[0] ?? expect.fail('no deadLetter');
}

const source = '{"type":"payment_status","entityId":"e-1","payload":{"status":"ACCC"}}';
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const bodySealing = parseSealingKeys(Buffer.from('ab'.repeat(32))) ?? expect.fail('no key');

/** Parks a delivery that its topic does not take yet. */
async function deadLetterOne() {
  const parts = deliveryParts({
    publish: ({ topic }) => {
      if (topic !== 'payments.dead-letter') throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic });
    },
  });
  const { eventId } = await publishDelivery({ ...verified(source), traceparent }, parts);
  return { deadLetter: deadLetterOf(parts.seen.records), eventId };
}

const asRedelivery = (delivery: DeliveryPorts) => ({
  delivery,
  send: (record: OutgoingRecord) => delivery.publish(record),
  storing: (send: (record: OutgoingRecord) => Promise<Position>) => (record: OutgoingRecord) => send(record),
});

describe('a redriven delivery', () => {
  it('becomes the same event as a direct delivery, with headers that say it was redriven', async () => {
    const direct = deliveryParts();
    await publishDelivery({ ...verified(source), traceparent }, direct);
    const { deadLetter, eventId } = await deadLetterOne();
    const parts = deliveryParts();
    const redriven = await redriveDelivery(deadLetter, Buffer.from(source), asRedelivery(parts));
    const [record = expect.fail(), ...more] = parts.seen.records;
    const [event = expect.fail()] = direct.seen.records;
    expect(more).toEqual([]);
    expect(redriven).toEqual({
      eventId,
      code: null,
      position: { topic: 'payments.payment-status', partition: 0, offset: 0n },
    });
    expect([record.topic, record.key, record.value]).toEqual([event.topic, event.key, event.value]);
    expect(headersOf(record)).toEqual({
      ...headersOf(event),
      'hookline.redriven-at': expect.stringMatching(/^\d{13}$/),
      'hookline.redriven-from': 'payments.dead-letter/0:0',
      'hookline.redrive-count': '1',
    });
  });

  it('that fails again is dead-lettered again, with its code and the number of redrives', async () => {
    const { deadLetter } = await deadLetterOne();
    const parts = deliveryParts();
    const again = await redriveDelivery(deadLetter, Buffer.from('{"no":'), asRedelivery(parts));
    expect([again?.code, again?.position.topic]).toEqual(['UNPARSABLE', 'payments.dead-letter']);
    const anew = deadLetterOf(parts.seen.records);
    expect(anew.headers).toMatchObject({ 'hookline.redrive-count': '1', traceparent });
    const next = deliveryParts();
    await redriveDelivery(anew, Buffer.from('{"no":'), asRedelivery(next));
    expect(deadLetterOf(next.seen.records).headers).toMatchObject({ 'hookline.redrive-count': '2' });
  });

  it.each(['octet-stream', 'text/plain', undefined])(
    'does not depend on its media type (%s)',
    async (type) => {
      const { deadLetter, eventId } = await deadLetterOne();
      const { 'hookline.media-type': _, ...rest } = deadLetter.headers;
      const headers = type === undefined ? rest : { ...rest, 'hookline.media-type': type };
      expect(
        await redriveDelivery({ ...deadLetter, headers }, Buffer.from(source), asRedelivery(deliveryParts())),
      ).toMatchObject({
        eventId,
        code: null,
      });
    },
  );

  it('that the brokers do not confirm is an error, and the dead-letter record is unchanged', async () => {
    const { deadLetter } = await deadLetterOne();
    const parts = deliveryParts({
      publish: () => {
        throw new HooklineError('PUBLISH_DEADLINE');
      },
    });
    await expect(redriveDelivery(deadLetter, Buffer.from(source), asRedelivery(parts))).rejects.toMatchObject(
      {
        code: 'PUBLISH_DEADLINE',
      },
    );
  });

  describe('whose body was sealed', () => {
    const omitting = { events: eventSchemasWith({ 'payment-status': 'omit' }), bodySealing };
    /** A drift that its type does not keep in Kafka; or a body whose type cannot be read. */
    const drifted = '{"type":"payment-status","entityId":"e-1","payload":{"status":7}}';
    const malformed = `${drifted},`;
    const deadLettered = async (body: string) => {
      const parts = deliveryParts(omitting);
      await publishDelivery(verified(body), parts);
      return deadLetterOf(parts.seen.records);
    };
    const redrive = async (body: string, options: Parameters<typeof deliveryParts>[0]) => {
      const deadLetter = await deadLettered(body);
      expect(deadLetter.headers['hookline.sealed']).toBe('1');
      const parts = deliveryParts(options);
      const redriven = redriveDelivery(deadLetter, Buffer.from(body), asRedelivery(parts));
      return { redriven, parts };
    };

    it.each([
      ['its type', drifted, {}],
      [
        'its type, but of another',
        drifted,
        { ...omitting, events: eventSchemasWith({ 'collection-status': 'omit' }) },
      ],
      ['any type', malformed, {}],
    ])('is not stored where the schemas have no policy of %s: it would be readable', async (_, body, now) => {
      const { redriven, parts } = await redrive(body, now);
      await expect(redriven).rejects.toThrow('set SCHEMAS_DIR to the schemas that ingress had');
      expect(parts.seen.records).toEqual([]);
    });

    it('is stored by the policy of its type', async () => {
      const { redriven } = await redrive(drifted, omitting);
      expect(await redriven).toMatchObject({ code: 'UNENCODABLE' });
    });

    it('as its type could not be read is stored by the policy that its type has', async () => {
      const deadLetter = await deadLettered(malformed);
      const parts = deliveryParts({ ...omitting, events: eventSchemasWith({ 'collection-status': 'omit' }) });
      const redriven = await redriveDelivery(deadLetter, Buffer.from(drifted), asRedelivery(parts));
      expect(redriven).toMatchObject({ code: null });
    });
  });

  it.each([
    ['hookline.ref', '../etc'],
    ['__connect.errors.stage', 'SPOOL'],
    ['hookline.received-at', 'yesterday'],
    ['hookline.subscription-id', undefined],
  ])('whose %s says nothing of use is not stored under a guess', async (name, value) => {
    const { deadLetter } = await deadLetterOne();
    const parts = deliveryParts();
    const { [name]: _, ...rest } = deadLetter.headers;
    const headers = value === undefined ? rest : { ...rest, [name]: value };
    expect(
      await redriveDelivery({ ...deadLetter, headers }, Buffer.from(source), asRedelivery(parts)),
    ).toBeNull();
    expect(parts.seen.records).toEqual([]);
  });
});

describe('a redriven delivery that no key opens', () => {
  const { encryptionKey: key } = readVectors<SealedVectors>('sealed.json');
  const sealedBody = sealBody(key, source);
  /** A delivery that was opened when it arrived, and that its topic did not take. */
  async function deadLetterSealed() {
    const parts = deliveryParts({
      publish: ({ topic }) => {
        if (topic !== 'payments.dead-letter')
          throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic });
      },
    });
    await publishDelivery(verified(sealedBody, 'octet-stream'), parts);
    return deadLetterOf(parts.seen.records);
  }

  it.each([
    ['has no key any more', 'UNPARSABLE', []],
    ['has another one', 'UNDECRYPTABLE', [encryptionKey('x'.repeat(32), 0)]],
  ])('as its ref %s stays open: a new record would be younger', async (_, code, keys) => {
    const deadLetter = await deadLetterSealed();
    const parts = { ...deliveryParts(), encryptionKeysOf: () => keys };
    const redelivery = asRedelivery(parts) as unknown as Redelivery;
    const outcome = await redriveOne(deadLetter, sealedBody, redelivery);
    expect(outcome).toEqual({
      deadLetter,
      outcome: 'refused',
      code,
      message:
        `no encryption key of ledger-eu opens it, and it stays as it is: put the key of its subscription, ${subscriptionId}, ` +
        'into SECRETS_DIR/ledger-eu/encryption-key, or correct ENCRYPTION_LAYOUT',
    });
    expect(parts.seen.records).toEqual([]);
    // With the key, later.
    const again = await redriveOne(
      deadLetter,
      sealedBody,
      asRedelivery(deliveryParts()) as unknown as Redelivery,
    );
    expect(again).toMatchObject({ outcome: 'stored' });
  });
});
