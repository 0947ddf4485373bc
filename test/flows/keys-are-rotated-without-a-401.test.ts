import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { until } from '../support/until.ts';

let receiver: ReceiverFixture;
let url: string;
const body = '{"type":"payment-status","entityId":"e"}';

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
  url = `${receiver.ingress.url}/webhooks/ledger-eu`;
});

afterAll(() => receiver[Symbol.asyncDispose]());

const status = async (secret: string) =>
  (
    await postSigned(
      url,
      { ...receiver, signingSecret: secret, subscriptionId: receiver.subscriptionId },
      body,
    )
  ).status;

async function metric(start: string): Promise<number> {
  const text = await (await fetch(`${await receiver.ingress.process.adminUrl()}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(start))
      ?.split(' ')[1] ?? 0,
  );
}

describe('keys from SECRETS_DIR', () => {
  it('are rotated without a restart and without a 401 in between, and the metric says which one matched', async () => {
    const { signingSecret: old } = receiver;
    const next = randomUUID();
    receiver.fixture.secrets('ledger-eu', { 'signing-secret': `${next}\n${old}` });
    await until('the new secret is live', async () => (await status(next)) === 200);
    expect(await status(old)).toBe(200);
    expect(await metric('hookline_key_matches_total{ref="ledger-eu",use="signing",key="1"}')).toBe(1);
    receiver.fixture.secrets('ledger-eu', { 'signing-secret': next });
    await until('the old secret is dead', async () => (await status(old)) === 401);
    expect(await status(next)).toBe(200);
    receiver.fixture.secrets('ledger-eu', { 'signing-secret': old });
    await until('the first secret is back', async () => (await status(old)) === 200);
  });

  it('that can not be used leave what was read before in force, and the fault in the log, without the value', async () => {
    receiver.fixture.secrets('ledger-eu', { 'signing-secret': 'too-short-to-be-one' });
    await until('it is logged', () =>
      receiver.ingress.process.lines.some((line) => String(line.msg).startsWith('secrets cannot be used')),
    );
    expect(await status(receiver.signingSecret)).toBe(200);
    expect(receiver.fixture.logs()).not.toContain('too-short-to-be-one');
    receiver.fixture.secrets('ledger-eu', { 'signing-secret': receiver.signingSecret });
  });

  it('of a ref that comes later are taken up, and those of one that goes are not kept', async () => {
    const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
    const later = url.replace('ledger-eu', 'later');
    expect((await postSigned(later, keys, body)).status).toBe(401);
    receiver.fixture.secrets('later', {
      'subscription-id': keys.subscriptionId,
      'signing-secret': keys.signingSecret,
    });
    await until('it is taken up', async () => (await postSigned(later, keys, body)).status === 200);
    receiver.fixture.forget('later');
    await until('it is gone', async () => (await postSigned(later, keys, body)).status === 401);
  });

  it('open what an older encryption key has sealed, while both are live', async () => {
    receiver.fixture.secrets('ledger-eu', {
      'encryption-key': `${'n'.repeat(32)}\n0123456789abcdef0123456789ABCDEF`,
    });
    await until('the old key is the second one', async () => {
      expect((await receiver.trigger1({ event: 'payment-status', sealed: true })).status).toBe(200);
      return (await metric('hookline_key_matches_total{ref="ledger-eu",use="encryption",key="1"}')) > 0;
    });
    const records = await receiver.fixture.read('payment-status');
    expect(records.some(({ record }) => String(record?.source).includes('FIToFIPmtStsRpt'))).toBe(true);
  });
});

describe('a layout of sealed bodies', () => {
  it.each([
    'iv12.tag16.ciphertext',
    'iv16.ciphertext.tag16:hex',
    'json',
    'payload/iv12.ciphertext.tag16:base64',
  ])('%s is opened by an ingress that is told so, and stored as the plain message', async (layout) => {
    const other = await receiver.fixture.ingress({ ENCRYPTION_LAYOUT: layout });
    await receiver.seed(`${other.url}/webhooks/ledger-eu`);
    const execution = await receiver.trigger1({ event: 'collection-status', sealed: true, layout });
    const { eventId } = receiptOf(execution);
    const [seen] = (await receiver.fixture.read('collection-status')).filter(
      ({ record }) => record?.eventId === eventId,
    );
    expect(JSON.parse(String(seen?.record?.source))).toEqual(JSON.parse(execution.sentBody));
    await other.process.stop();
    await receiver.seed(url);
  });
});
