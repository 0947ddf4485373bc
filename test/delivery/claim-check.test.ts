import { describe, expect, it } from 'vitest';
import { HEADER_LENGTH } from '../../src/avro/record-codec.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { type OutgoingRecord, wireBytes } from '../../src/core/record.ts';
import { eventIdOf, sha256Of } from '../../src/crypto/ids.ts';
import { ClaimCheck } from '../../src/delivery/claim-check.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { deliveryParts, headersOf, subscriptionId, verified } from '../support/delivery-parts.ts';
import { ownEventSchemas } from '../support/event-schemas.ts';
import { manualClock } from '../support/manual-clock.ts';
import { scriptedBodies } from '../support/scripted-object-store.ts';

const MAX_RECORD_BYTES = 2_000;

function start(options: Parameters<typeof deliveryParts>[0] = {}) {
  const scripted = scriptedBodies(manualClock());
  const claims = new ClaimCheck(scripted.bodies, MAX_RECORD_BYTES);
  const delivery = deliveryParts({ claims, ...options });
  return { ...scripted, claims, delivery, store: scripted.store };
}

const messageOf = (padding: number, more: object = {}) =>
  JSON.stringify({
    type: 'payment-status',
    entityId: 'e-1',
    payload: { status: 'ACCC', ...more },
    padding: 'x'.repeat(padding),
  });

const decode = ({ value }: OutgoingRecord) =>
  ownEventSchemas()
    .all.find(({ topic }) => topic === 'payment-status')!
    .codec.decode(value!.subarray(HEADER_LENGTH));

describe('an event', () => {
  it('that fits holds its message, and nothing is stored elsewhere', async () => {
    const { delivery, store } = start();
    await publishDelivery(verified(messageOf(10)), delivery);
    expect(store.calls).toEqual([]);
    expect(decode(delivery.seen.records[0]!)).toMatchObject({ source: messageOf(10), sourceRef: null });
  });

  it('that does not fit refers to its message, which is in the store before', async () => {
    const { delivery, store } = start({
      publish: () => expect(store.objects.size).toBe(1),
    });
    const message = messageOf(5_000);
    const { eventId } = await publishDelivery(verified(message), delivery);
    const [record] = delivery.seen.records as [OutgoingRecord];
    expect(wireBytes(record)).toBeLessThanOrEqual(MAX_RECORD_BYTES);
    const key = `hookline/payments.payment-status/2026/11/21/${eventId}.json`;
    expect(decode(record)).toMatchObject({
      eventId,
      type: 'payment-status',
      entityId: 'e-1',
      status: 'ACCC',
      source: null,
      sourceRef: {
        uri: `s3://events/${key}`,
        bytes: message.length,
        sha256: sha256Of(Buffer.from(message)),
        omitted: [],
      },
    });
    expect(store.objects.get(key)?.toString()).toBe(message);
    expect(headersOf(record)).toMatchObject({ ce_id: eventId, ce_subject: 'e-1' });
  });

  it('whose record is too large although its message is not refers to it as well, and counts drift once', async () => {
    const { delivery, store } = start();
    // The typed fields repeat what the message has.
    const rows = Array.from({ length: 14 }, (_, n) => ({ OrgnlInstrId: `i-${n}`.repeat(14), TxSts: 1 }));
    const message = messageOf(0, { pacs002: { FIToFIPmtStsRpt: { TxInfAndSts: rows } } });
    expect(message.length).toBeLessThan(MAX_RECORD_BYTES - 200);
    await publishDelivery(verified(message), delivery);
    expect(store.objects.size).toBe(1);
    expect(delivery.seen.drift).toEqual([expect.stringMatching(/, 14 values$/)]);
  });

  it('leaves out values that do not fit, and lists them', async () => {
    const { delivery } = start();
    const rows = Array.from({ length: 500 }, (_, n) => ({ OrgnlInstrId: `i-${n}` }));
    const report = { GrpHdr: { MsgId: 'm-1' }, TxInfAndSts: rows };
    await publishDelivery(verified(messageOf(0, { pacs002: { FIToFIPmtStsRpt: report } })), delivery);
    expect(decode(delivery.seen.records[0]!)).toMatchObject({
      status: 'ACCC',
      pacs002: { FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'm-1' }, TxInfAndSts: null } },
      sourceRef: { omitted: ['pacs002.FIToFIPmtStsRpt.TxInfAndSts'] },
    });
    expect(delivery.seen.drift).toEqual([]);
  });

  it('respects a topic that takes less', async () => {
    const { delivery } = start({ limitOf: () => 1_500 });
    await publishDelivery(verified(messageOf(1_200)), delivery);
    expect(decode(delivery.seen.records[0]!)).toMatchObject({ source: null });
  });

  it.each(['type', 'entityId'])(
    'whose %s is longer than 4 KiB becomes a dead-letter record',
    async (name) => {
      const { delivery } = start();
      const message = JSON.stringify({ type: 'payment-status', entityId: 'e', [name]: 'x'.repeat(4_097) });
      await publishDelivery(verified(message), delivery);
      expect(delivery.seen.deadLettered).toEqual(['ENCODE']);
      expect(headersOf(delivery.seen.records[0]!)['__connect.errors.exception.message']).toContain(
        `${name} has 4097 bytes`,
      );
    },
  );

  it('whose name other bytes have is stored under another one, and counted once', async () => {
    const { delivery, store, written } = start();
    const message = messageOf(5_000, { status: 5 });
    const eventId = eventIdOf(subscriptionId, Buffer.from(message));
    const folder = 'hookline/payments.payment-status/2026/11/21';
    store.objects.set(`${folder}/${eventId}.json`, Buffer.from('other'));
    await publishDelivery(verified(message), delivery);
    const key = `${folder}/${eventId}-${sha256Of(Buffer.from(message))}.json`;
    expect(store.objects.get(key)?.toString()).toBe(message);
    expect(decode(delivery.seen.records[0]!)).toMatchObject({ sourceRef: { uri: `s3://events/${key}` } });
    expect(written).toEqual(['taken', 'created']);
    expect(delivery.seen.drift).toEqual(['payments.payment-status status']);
  });

  it('is not published where the store does not take its message', async () => {
    const { delivery, store } = start();
    store.fateOf = () => 'refused';
    await expect(publishDelivery(verified(messageOf(5_000)), delivery)).rejects.toMatchObject({
      code: 'BODY_STORE_REFUSED',
    });
    expect(delivery.seen.records).toEqual([]);
  });
});

describe('a dead-letter record', () => {
  it('whose body does not fit refers to it by the hash of the body', async () => {
    const { delivery, store } = start();
    const body = Buffer.alloc(5_000, 7);
    await publishDelivery(verified(body), delivery);
    const [record] = delivery.seen.records as [OutgoingRecord];
    const key = `hookline/payments.dead-letter/2026/11/21/${sha256Of(body)}.bin`;
    expect(store.objects.get(key)?.equals(body)).toBe(true);
    expect(record.value).toHaveLength(0);
    expect(headersOf(record)).toMatchObject({
      '__connect.errors.stage': 'DECRYPT',
      'hookline.part': '1',
      'hookline.parts': '1',
      'hookline.body-uri': `s3://events/${key}`,
      'hookline.body-bytes': '5000',
      'hookline.body-sha256': sha256Of(body),
    });
  });

  it('refers to its body where the topic refuses a record that should fit', async () => {
    const { delivery, store } = start({
      publish: ({ value }) => {
        if (value && value.length > 500) throw new HooklineError('RECORD_TOO_LARGE');
      },
    });
    await publishDelivery(verified(Buffer.alloc(1_000, 7)), delivery);
    expect(store.objects.size).toBe(1);
    expect(delivery.seen.records).toHaveLength(1);
  });
});

describe('records of one key', () => {
  it('wait for the object of an earlier one, and are then sent without waiting for its confirmation', async () => {
    const { claims, store } = start();
    const sent: string[] = [];
    let take = () => {};
    store.fateOf = () =>
      new Promise((resolve) => {
        take = () => resolve(undefined);
      });
    const record = (key: string, value: string): OutgoingRecord => ({
      topic: 't',
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers: new Map(),
    });
    const send = ({ value }: OutgoingRecord) => {
      sent.push(String(value));
      return new Promise<never>(() => {});
    };
    const bytes = Buffer.from('m');
    const object = { uri: 's3://events/m', bytes, sha256: sha256Of(bytes), contentType: 'application/json' };
    void claims.publish(record('a', '1'), object, send);
    void claims.publish(record('a', '2'), undefined, send);
    void claims.publish(record('b', '3'), undefined, send);
    await settled();
    expect(sent).toEqual(['3']);
    take();
    await settled();
    expect(sent).toEqual(['3', '1', '2']);
    void claims.publish(record('a', '4'), undefined, send);
    expect(sent).toEqual(['3', '1', '2', '4']);
  });

  it('have their objects written at once: none waits longer than the deadline', async () => {
    const clock = manualClock();
    const { bodies, store } = scriptedBodies(clock, 3_000);
    const claims = new ClaimCheck(bodies, MAX_RECORD_BYTES);
    store.fateOf = (call) => (call === 'create 1' ? 'hangs' : undefined);
    const seen: string[] = [];
    const send = async ({ value }: OutgoingRecord) => {
      seen.push(`sent ${value}`);
      return { topic: 't', partition: 0, offset: 0n };
    };
    const publish = (n: number) => {
      const bytes = Buffer.from(`${n}`);
      const record = { topic: 't', key: Buffer.from('a'), value: bytes, headers: new Map() };
      const object = { uri: `s3://events/${n}`, bytes, sha256: sha256Of(bytes), contentType: 'text/plain' };
      return claims.publish(record, object, send).catch(() => void seen.push(`failed ${n}`));
    };
    const all = [1, 2, 3, 4].map(publish);
    await clock.advance(2_999);
    expect([...store.objects.keys()]).toEqual(['2', '3', '4']);
    expect(seen).toEqual([]);
    await clock.advance(1);
    await Promise.all(all);
    expect(seen.toSorted()).toEqual(['failed 1', 'sent 2', 'sent 3', 'sent 4']);
    expect(seen.filter((one) => one.startsWith('sent'))).toEqual(['sent 2', 'sent 3', 'sent 4']);
  });

  it('learn that an earlier one was not stored before they are sent', async () => {
    const { claims, store } = start();
    const seen: string[] = [];
    store.fateOf = () => 'refused';
    const key = Buffer.from('a');
    const bytes = Buffer.from('m');
    const object = { uri: 's3://events/m', bytes, sha256: sha256Of(bytes), contentType: 'application/json' };
    const record = (value: string): OutgoingRecord => ({
      topic: 't',
      key,
      value: Buffer.from(value),
      headers: new Map(),
    });
    const send = async ({ value }: OutgoingRecord) => {
      seen.push(`sent ${value}`);
      return { topic: 't', partition: 0, offset: 0n };
    };
    const failed = claims.publish(record('1'), object, send, () => seen.push('not stored 1'));
    const next = claims.publish(record('2'), undefined, send);
    await expect(failed).rejects.toMatchObject({ code: 'BODY_STORE_REFUSED' });
    await next;
    expect(seen).toEqual(['not stored 1', 'sent 2']);
  });
});

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
