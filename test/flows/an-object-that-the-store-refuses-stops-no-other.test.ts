import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';

/** As a store with a limit for one object does it. */
const MAX_OBJECT_BYTES = 2_000_000;
const REMEDY = "raise the store's limit for one object";

let store: ScriptedS3;
let receiver: ReceiverFixture;

beforeAll(async () => {
  store = await startScriptedS3();
  receiver = await ReceiverFixture.make(inject('stack'), store.env);
}, 240_000);

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

const setLimit = (maxBytes: number) => {
  store.answer = ({ method, headers }) =>
    method === 'PUT' && Number(headers['content-length']) > maxBytes
      ? { status: 400, code: 'EntityTooLarge' }
      : undefined;
};

const send = async (url: string, entityId: string, bytes: number) => {
  const message = { type: 'payment-status', entityId, payload: { status: 'ACCC' }, padding: '' };
  const padding = 'x'.repeat(bytes - JSON.stringify(message).length);
  const body = JSON.stringify({ ...message, padding });
  const { status, text } = await postSigned(`${url}/webhooks/ledger-eu`, receiver, body);
  const { error, stored } = JSON.parse(text) as { error?: string; stored?: string };
  return `${status} ${error ?? stored}`;
};

it('without a spool: it is answered 503 BODY_STORE_REFUSED, the log has the remedy, and all others are stored', async () => {
  setLimit(MAX_OBJECT_BYTES);
  const { url, process: ingress } = receiver.ingress;
  for (let n = 0; n < 3; n++) {
    expect(await send(url, 'alone-too-large', 3_000_000)).toBe('503 BODY_STORE_REFUSED');
    expect(await send(url, `alone-${n}`, 950_000)).toBe('200 kafka');
    expect(await send(url, `alone-${n}`, 1_500_000)).toBe('200 kafka');
  }
  const refusals = ingress
    .written()
    .split('\n')
    .filter((line) => line.includes('webhook refused'));
  expect(refusals[0]).toContain(REMEDY);
  const metrics = await ingress.metrics();
  expect(metrics).toMatch(/^hookline_body_store_available 1$/m);
  expect(metrics).toMatch(/^hookline_body_store_writes_total\{outcome="object_refused"\} 3$/m);
});

it('with a spool: it waits there with later events of its key, all others go on, and it is stored when the store takes it', async () => {
  setLimit(MAX_OBJECT_BYTES);
  const SPOOL_DIR = join(receiver.fixture.dir, 'spool');
  const { url, process: ingress } = await receiver.fixture.ingress({ ...store.env, SPOOL_DIR });
  expect(await send(url, 'spooled-too-large', 3_000_000)).toBe('200 spool');
  await ingress.logged('the spool is not drained, tried again', 30_000);
  expect(ingress.written()).toContain(REMEDY);
  expect(await send(url, 'spooled-other', 1_500_000)).toBe('200 kafka');
  expect(await send(url, 'spooled-other', 950_000)).toBe('200 kafka');
  expect(await send(url, 'spooled-other', 500)).toBe('200 kafka');
  expect(await send(url, 'spooled-too-large', 500)).toBe('200 spool');
  setLimit(Number.POSITIVE_INFINITY);
  await ingress.logged('the spool is drained', 90_000);
  const events = await receiver.fixture.read('payment-status');
  const sources = events
    .filter(({ key }) => key === 'spooled-too-large')
    .map(({ record }) => (record?.source === null ? 'in the store' : 'in the record'));
  expect(sources).toEqual(['in the store', 'in the record']);
  await ingress.stop();
}, 120_000);
