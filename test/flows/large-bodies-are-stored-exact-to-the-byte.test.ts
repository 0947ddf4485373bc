import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENCRYPTION_KEY, ReceiverFixture } from '../support/receiver-fixture.ts';
import { sealBody } from '../support/seal.ts';
import { postSigned } from '../support/sign.ts';

let receiver: ReceiverFixture;

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
});

afterAll(() => receiver[Symbol.asyncDispose]());

const BYTES = 50_000_000;
const SEALED = { 'content-type': 'application/octet-stream' };
const digestOf = (text: unknown) => createHash('sha256').update(String(text)).digest('hex');
const messageOf = (entityId: string) => {
  const head = `{"type":"payment-status","entityId":"${entityId}","payload":{"status":"ACCC","filler":"`;
  return `${head}${'z'.repeat(BYTES - head.length - 3)}"}}`;
};
const url = () => `${receiver.ingress.url}/webhooks/ledger-eu`;
const small = (entityId: string, n: number) =>
  postSigned(url(), receiver, `{"type":"payment-status","entityId":"${entityId}","n":${n}}`);

describe('sealed bodies of 50 MB', () => {
  it('at once to one ingress: all stored exact to the byte, small webhooks beside them', async () => {
    const entities = ['big-1', 'big-2', 'big-3', 'big-4'];
    const digests = new Map(entities.map((entityId) => [entityId, digestOf(messageOf(entityId))]));
    const sending = entities.map((entityId) =>
      postSigned(url(), receiver, sealBody(ENCRYPTION_KEY, messageOf(entityId)), SEALED),
    );
    let beside = 0;
    let waiting = true;
    const all = Promise.all(sending).finally(() => {
      waiting = false;
    });
    while (waiting) if ((await small('tiny', beside)).status === 200) beside++;
    expect((await all).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(beside).toBeGreaterThan(0);
    const records = await receiver.fixture.read('payment-status', entities.length + beside);
    const read = records.filter(({ key }) => digests.has(String(key)));
    expect(new Map(read.map(({ key, record }) => [String(key), digestOf(record?.source)]))).toEqual(digests);
  }, 120_000);

  it('and small ones of one entity, each sent when the one before was answered, keep their order', async () => {
    const large = (n: number) =>
      postSigned(
        url(),
        receiver,
        JSON.stringify({ type: 'payment-status', entityId: 'e-o', n, x: 'x'.repeat(3e6) }),
      );
    for (let n = 0; n < 6; n += 2) {
      expect((await large(n)).status).toBe(200);
      expect((await small('e-o', n + 1)).status).toBe(200);
    }
    const records = await receiver.fixture.read('payment-status', 6);
    const numbers = records
      .filter(({ key }) => key === 'e-o')
      .map(({ record }) => JSON.parse(String(record?.source)).n);
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('with wrong signatures: all 401, nowhere', async () => {
    const wrong = { ...SEALED, 'x-signature-sha256': '0'.repeat(64) };
    const body = sealBody(ENCRYPTION_KEY, messageOf('forged'));
    const sent = [1, 2, 3, 4].map(() => postSigned(url(), receiver, body, wrong));
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    const records = await receiver.fixture.read('payment-status');
    expect(records.filter(({ key }) => key === 'forged')).toEqual([]);
  });

  it('that can not be opened go to dead-letter as they came, in parts that the topic takes', async () => {
    const body = Buffer.alloc(BYTES, 7);
    const answer = await postSigned(url(), receiver, body, SEALED);
    expect([answer.status, JSON.parse(answer.text).stored]).toEqual([200, 'kafka']);
    const deadLetters = await receiver.fixture.read('dead-letter');
    expect(Buffer.concat(deadLetters.map(({ value }) => value as Buffer)).equals(body)).toBe(true);
    expect(deadLetters[0]?.headers['__connect.errors.stage']).toBe('DECRYPT');
  });
});
