import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventIdOf } from '../../../src/crypto/ids.ts';
import { type RunningStore, startS3Mock } from '../../support/object-store/s3-bucket.ts';
import { postSigned } from '../../support/sign.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import { Night } from './night.ts';
import { bySection } from './runbook.ts';
import { newKeys, Traffic, webhook } from './traffic.ts';

const keys = newKeys();
const NAMESPACE = { namespace: 'objects' };

let store: RunningStore;
let fixture: Fixture;
let night: Night;
let ingress: Awaited<ReturnType<Fixture['ingress']>>;
let env: Record<string, string | undefined>;
let traffic: Traffic;

beforeAll(async () => {
  store = await startS3Mock();
  fixture = await Fixture.make(inject('stack'));
  night = await Night.begin();
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
  });
  ingress = await fixture.ingress({ ...store.env, BODY_STORE_DEADLINE_MS: '1500' });
  env = { ...fixture.env, ...store.env };
  await night.watch('objects', 'ingress', ingress.process);
  // Most of it needs the store.
  traffic = new Traffic({ url: `${ingress.url}/webhooks/ledger-eu`, keys, perSecond: 2, bytes: 950_000 });
}, 240_000);

afterAll(async () => {
  traffic?.[Symbol.dispose]();
  await fixture?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

describe('at night, the object store', () => {
  it('is unavailable, and is used again when it is back', async () => {
    await until('messages are stored', () => traffic.acked.length > 3, 30_000);
    await store.kill();
    await night.fires('HooklineBodyStoreUnavailable', NAMESPACE);
    const doctor = await night.run('HooklineBodyStoreUnavailable', 'hookline doctor', env);
    expect(doctor).toContain('nobody listens there');
    bySection('HooklineBodyStoreUnavailable', 'Nothing must be restarted');
    const before = traffic.acked.length;
    await store.start();
    await night.resolves('HooklineBodyStoreUnavailable', NAMESPACE);
    await until('messages are stored again', () => traffic.acked.length > before, 60_000);
  });

  it('has an object of somebody else under the name of an event', async () => {
    const body = webhook(7_777, 960_000);
    const eventId = eventIdOf(keys.subscriptionId, Buffer.from(body));
    const date = new Date().toISOString().slice(0, 10).replaceAll('-', '/');
    const path = `${store.bucket}/hookline/${fixture.topic('payment-status')}/${date}/${eventId}.json`;
    await fetch(`${store.endpoint}/${path}`, { method: 'PUT', body: 'other bytes' });
    expect((await postSigned(`${ingress.url}/webhooks/ledger-eu`, keys, body)).status).toBe(200);
    await night.fires('HooklineObjectTaken', NAMESPACE);
    const found = await night.run('HooklineObjectTaken', 'hookline bodies check --verify', env);
    expect(found).not.toContain('missing');
    bySection('HooklineObjectTaken', 'take away the right of others to write below the prefix');
    await night.resolves('HooklineObjectTaken', NAMESPACE);
  });
});
