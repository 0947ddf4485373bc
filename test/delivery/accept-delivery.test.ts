import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { eventIdOf } from '../../src/crypto/ids.ts';
import { signingKey } from '../../src/crypto/keys.ts';
import { SignatureCheck } from '../../src/crypto/signature.ts';
import { acceptDelivery } from '../../src/delivery/accept-delivery.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import {
  deliveryParts,
  headersOf,
  signingSecret,
  subscriptionId,
  verified,
} from '../support/delivery-parts.ts';
import {
  type AvroVectors,
  fromBase64,
  readVectors,
  type SealedVectors,
  type SignatureVectors,
} from '../support/vectors.ts';

const avro = readVectors<AvroVectors>('avro.json');
const sealed = readVectors<SealedVectors>('sealed.json');
const signed = readVectors<SignatureVectors>('signatures.json').bodies[2] ?? expect.fail('no vector');
const source = String(avro.record.source);
const only = <T>(items: readonly T[]) =>
  items.length === 1 ? (items[0] as T) : expect.fail(`${items.length} items`);

function accept(body: Buffer, header: string | undefined, parts = deliveryParts()) {
  const check = new SignatureCheck([signingKey(subscriptionId, signingSecret, 0)]);
  check.update(body);
  return {
    parts,
    receipt: acceptDelivery(
      { ...verified(body) },
      { check, header },
      { ...parts, store: (delivery) => publishDelivery(delivery, parts) },
    ),
  };
}

describe('a delivery', () => {
  it('that is signed becomes the record that Python makes of it, keyed by its entity, with CloudEvents headers', async () => {
    const { parts, receipt } = accept(fromBase64(signed.base64), signed.signature);
    expect(await receipt).toEqual({ eventId: avro.record.eventId, stored: 'kafka' });
    const record = only(parts.seen.records);
    expect(record.topic).toBe('payments.payment-status');
    expect(record.key.toString()).toBe('entity-7');
    expect(record.value?.toString('base64')).toBe(avro.value);
    expect(headersOf(record)).toEqual({
      ce_id: avro.record.eventId,
      ce_source: '/webhooks/ledger-eu',
      ce_type: 'payment-status',
      ce_specversion: '1.0',
      ce_time: '2026-11-21T07:24:41.505Z',
      ce_subject: 'entity-7',
      'content-type': 'application/avro',
    });
    expect(parts.seen).toMatchObject({
      drift: [],
      deadLettered: [],
      unclassified: 0,
      matched: ['ledger-eu signing 0'],
    });
  });

  it.each([
    ['not signed', undefined],
    ['signed wrongly', '0'.repeat(64)],
  ])('that is %s is nowhere', async (_, header) => {
    const { parts, receipt } = accept(fromBase64(signed.base64), header);
    await expect(receipt).rejects.toMatchObject({ code: 'UNAUTHENTIC' });
    expect(parts.seen.records).toEqual([]);
    expect(parts.seen.matched).toEqual([]);
  });

  it('has the same event id sealed and plain, so that a replay is told', async () => {
    const parts = deliveryParts();
    const plain = await publishDelivery(verified(source), parts);
    const opened = await publishDelivery(
      verified(fromBase64(sealed.cases[0]?.body ?? ''), 'octet-stream'),
      parts,
    );
    expect(opened).toEqual(plain);
    expect(parts.seen.records[1]?.value).toEqual(parts.seen.records[0]?.value);
  });

  it('carries the trace context that the request had', async () => {
    const parts = deliveryParts();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await publishDelivery({ ...verified(source), traceparent }, parts);
    expect(headersOf(only(parts.seen.records))).toMatchObject({ traceparent });
  });

  it.each([
    ['an unknown type', '{"type":"refund","entityId":"e-1"}', 'e-1', 'refund'],
    ['no type', '{"entityId":"e-1"}', 'e-1', 'unclassified'],
    ['no entity', '{"type":"refund"}', null, 'refund'],
    ['an empty entity', '{"type":"refund","entityId":""}', null, 'refund'],
    ['a type that is no text', '{"type":5}', null, 'unclassified'],
  ])('with %s is unclassified, with its JSON as source', async (_, body, key, type) => {
    const parts = deliveryParts();
    const { eventId } = await publishDelivery(verified(body), parts);
    const record = only(parts.seen.records);
    expect(record.topic).toBe('payments.unclassified');
    expect(record.key.toString()).toBe(key ?? eventId);
    expect(headersOf(record).ce_type).toBe(type);
    expect(parts.seen.unclassified).toBe(1);
  });

  it('with values that do not fit is stored all the same, and the drift counted', async () => {
    const parts = deliveryParts();
    await publishDelivery(
      verified('{"type":"payment_status","entityId":7,"payload":{"status":1,"pacs002":"x"}}'),
      parts,
    );
    expect(only(parts.seen.records).topic).toBe('payments.payment-status');
    expect(parts.seen.drift).toEqual(
      ['entityId', 'status', 'pacs002'].map((field) => `payments.payment-status ${field}`),
    );
  });

  it.each([
    ['DECRYPT', 'UNDECRYPTABLE', Buffer.from('not sealed by anyone at all'), 'octet-stream'],
    ['PARSE', 'UNPARSABLE', Buffer.from('{"type":'), 'json'],
    ['PARSE', 'UNPARSABLE', Buffer.from('[1,2]'), 'json'],
    ['PARSE', 'UNPARSABLE', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'octet-stream'],
    ['DECRYPT', 'UNDECRYPTABLE', Buffer.from('\ufeff{}'), 'json'],
    ['DECRYPT', 'UNDECRYPTABLE', Buffer.from([0x22, 0xff, 0x22]), 'json'],
    ['DECRYPT', 'UNDECRYPTABLE', Buffer.alloc(0), 'json'],
  ] as const)(
    'that fails at %s is a dead-letter record with its original bytes (%s)',
    async (stage, code, body, mediaType) => {
      const parts = deliveryParts();
      const receipt = await publishDelivery(verified(body, mediaType), parts);
      const record = only(parts.seen.records);
      expect(record.topic).toBe('payments.dead-letter');
      expect(record.value).toEqual(body);
      expect(record.key.toString()).toBe(receipt.eventId);
      expect(headersOf(record)).toMatchObject({
        '__connect.errors.stage': stage,
        '__connect.errors.exception.class.name': code,
        'hookline.ref': 'ledger-eu',
        'hookline.subscription-id': subscriptionId,
        'hookline.media-type': mediaType,
        'hookline.received-at': '1795245881505',
        'hookline.parts': '1',
      });
      expect(parts.seen.deadLettered).toEqual([stage]);
    },
  );

  it('that is too large for its topic goes to the dead-letter topic, in parts where these are too small too', async () => {
    const body = Buffer.from(
      JSON.stringify({ type: 'payment-status', entityId: 'e', pad: 'x'.repeat(2_000_000) }),
    );
    const parts = deliveryParts({
      publish: ({ topic, value }) => {
        const limit = topic === 'payments.dead-letter' ? 500_000 : 1_000_000;
        if ((value?.length ?? 0) > limit) throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic });
      },
    });
    const receipt = await publishDelivery(verified(body), parts);
    const deadLetters = parts.seen.records.filter((record) => headersOf(record)['hookline.parts'] === '5');
    expect(Buffer.concat(deadLetters.map((record) => record.value ?? Buffer.alloc(0)))).toEqual(body);
    expect(deadLetters.map((record) => headersOf(record)['hookline.part'])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(new Set(deadLetters.map((record) => record.key.toString()))).toEqual(new Set([receipt.eventId]));
    expect(receipt.eventId).toBe(eventIdOf(subscriptionId, body));
    expect(headersOf(deadLetters[0] ?? expect.fail())).toMatchObject({
      '__connect.errors.stage': 'PRODUCE',
      '__connect.errors.topic': 'payments.payment-status',
    });
    expect(parts.seen.deadLettered).toEqual(['PRODUCE']);
  });

  it('is cut at once into the parts that its topic is known to take, headers and all', async () => {
    const takes = 100_000;
    const sizeOf = ({ key, value, headers }: OutgoingRecord) =>
      [key, value ?? Buffer.alloc(0), ...[...headers].flat()].reduce((sum, bytes) => sum + bytes.length, 100);
    let refused = 0;
    const parts = deliveryParts({
      limitOf: () => takes,
      publish: (record) => {
        if (sizeOf(record) <= takes) return;
        refused++;
        throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic: record.topic });
      },
    });
    const body = Buffer.from(JSON.stringify({ type: 'payment-status', pad: 'x'.repeat(450_000) }));
    await publishDelivery(verified(body), parts);
    expect(refused).toBe(1);
    expect(Buffer.concat(parts.seen.records.map((record) => record.value ?? Buffer.alloc(0)))).toEqual(body);
    expect(parts.seen.records).toHaveLength(5);
  });

  it('leaves no part behind of a cut that does not fit, though its last piece would', async () => {
    const parts = deliveryParts({
      publish: ({ topic, value }) => {
        if ((value?.length ?? 0) > 400_000) throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic });
      },
    });
    await publishDelivery(verified(`{"type":"payment-status","pad":"${'x'.repeat(1_000_000)}"}`), parts);
    const counts = parts.seen.records.map((record) => headersOf(record)['hookline.parts']);
    expect(new Set(counts)).toEqual(new Set([String(counts.length)]));
  });

  it('that not even the dead-letter records take is refused as not stored: its answer is no 200', async () => {
    const parts = deliveryParts({
      publish: ({ topic }) => {
        throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic });
      },
    });
    await expect(publishDelivery(verified(source), parts)).rejects.toMatchObject({
      code: 'PUBLISH_REFUSED',
      status: 503,
      message: expect.stringContaining('payments.dead-letter'),
    });
    expect(parts.seen.deadLettered).toEqual([]);
  });

  it('whose record nobody confirms is not dead-lettered: nothing is promised, and the sender hears so', async () => {
    const parts = deliveryParts({
      publish: () => {
        throw new HooklineError('PUBLISH_DEADLINE');
      },
    });
    await expect(publishDelivery(verified(source), parts)).rejects.toMatchObject({
      code: 'PUBLISH_DEADLINE',
    });
    expect(parts.seen.deadLettered).toEqual([]);
  });

  it('of any bytes is stored somewhere, and its source is what was signed', async () => {
    const anything = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.constantFrom('json' as const, 'octet-stream' as const),
        async (bytes, mediaType) => {
          const parts = deliveryParts();
          const body = Buffer.from(bytes);
          await publishDelivery(verified(body, mediaType), parts);
          const record = only(parts.seen.records);
          expect(record.value?.includes(body)).toBe(true);
        },
      ),
    );
  });
});
