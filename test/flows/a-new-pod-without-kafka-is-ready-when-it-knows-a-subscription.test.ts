import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { readiness } from '../support/secure/secure-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'));
});
afterAll(() => fixture[Symbol.asyncDispose]());

// Its volume is empty: it has not seen the subscriptions topic yet, as the other pods have.
it('so that senders reach the other pods until then, and this one when a file names a ref', async () => {
  const SPOOL_DIR = join(fixture.dir, 'spool');
  const { url, process } = await fixture.ingress({ SPOOL_DIR, KAFKA_BROKERS: '127.0.0.1:9' });
  const admin = await process.adminUrl();
  const begun = async () => !(await readiness(admin)).reasons.includes('starting');
  await until('it has started', begun);
  expect(await readiness(admin)).toEqual({
    status: 503,
    reasons: 'no subscription is known before their topic has been read',
  });
  const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
  fixture.secrets('eu', { 'subscription-id': keys.subscriptionId, 'signing-secret': keys.signingSecret });
  await until('it is ready', async () => (await readiness(admin)).status === 200);
  const body = '{"type":"payment-status","entityId":"e-1","payload":{"status":"ACCC"}}';
  expect(await postSigned(`${url}/webhooks/eu`, keys, body)).toMatchObject({
    status: 200,
    text: expect.stringContaining('"stored":"spool"'),
  });
});
