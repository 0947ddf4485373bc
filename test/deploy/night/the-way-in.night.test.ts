import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { postSigned } from '../../support/sign.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { earlierWebhooks } from './history.ts';
import { Night } from './night.ts';
import { bySection } from './runbook.ts';
import { type Keys, newKeys, Traffic, webhook } from './traffic.ts';

const MIB = 1024 ** 2;
const namespace = 'payments';
const settings = {
  ALLOWED_SOURCES: '10.0.0.0/8',
  MAX_BODY_BYTES: String(4 * MIB),
  MEMORY_BUDGET_BYTES: String(42 * MIB),
  ADMISSION_WAIT_MS: '1',
};

let fixture: Fixture;
let night: Night;
let ingress: Awaited<ReturnType<Fixture['ingress']>>;
let traffic: Traffic;
const keys = { eu: newKeys(), us: newKeys() };

beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'));
  night = await Night.begin(earlierWebhooks(namespace));
  secrets('ledger-eu', keys.eu);
  await roll({});
  traffic = new Traffic({ url: `${ingress.url}/webhooks/ledger-eu`, keys: keys.eu });
});

afterAll(async () => {
  traffic?.[Symbol.dispose]();
  await fixture?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
});

const secrets = (ref: string, { subscriptionId, signingSecret }: Keys) =>
  fixture.secrets(ref, { 'subscription-id': subscriptionId, 'signing-secret': signingSecret });

/** Settings are rolled out: another process takes the place of the one before. */
async function roll(more: Partial<typeof settings>): Promise<void> {
  Object.assign(settings, more);
  const before = ingress;
  ingress = await fixture.ingress(settings);
  await night.watch(namespace, 'ingress', ingress.process);
  if (traffic) traffic.url = `${ingress.url}/webhooks/ledger-eu`;
  await before?.process.stop();
}

describe('at night, webhooks', () => {
  it('that come from new addresses are refused and so none is stored: the addresses are added', async () => {
    await night.fires('HooklineWebhooksRefused', { namespace, code: 'SOURCE_NOT_ALLOWED' });
    await night.fires('HooklineNoWebhooks', { namespace });
    bySection('HooklineNoWebhooks', 'If they do, they are refused: see that alert.');
    bySection('HooklineWebhooksRefused', 'add them to `ALLOWED_SOURCES`');
    await roll({ ALLOWED_SOURCES: '10.0.0.0/8,127.0.0.1' });
    await night.resolves('HooklineWebhooksRefused', { namespace });
    await night.resolves('HooklineNoWebhooks', { namespace });
    expect(traffic.acked.length).toBeGreaterThan(0);
  });

  it('with large bodies find no memory, until they are given more of it and of time', async () => {
    const large = webhook(0, 3 * MIB);
    const post = () => postSigned(traffic.url, keys.eu, large);
    const statuses = async () =>
      (await Promise.all(Array.from({ length: 20 }, post))).map((one) => one.status);
    const waves = setInterval(() => void statuses().catch(() => {}), 2_000);
    await night.fires('HooklineLargeBodies', { namespace });
    clearInterval(waves);
    bySection('HooklineLargeBodies', 'One pod accepts more with a higher `MEMORY_BUDGET_BYTES`');
    await roll({ MEMORY_BUDGET_BYTES: String(256 * MIB), ADMISSION_WAIT_MS: '10000' });
    expect(await statuses()).toEqual(Array(20).fill(200));
    await night.resolves('HooklineLargeBodies', { namespace });
  });

  it('are signed with another secret than ours: it is put before the old one, and nothing is restarted', async () => {
    const old = keys.eu.signingSecret;
    const renewed = { ...keys.eu, signingSecret: newKeys().signingSecret };
    traffic.keys = renewed;
    await night.fires('HooklineSignaturesRefused', { namespace });
    await night.fires('HooklineSubscriptionRefused', { namespace, ref: 'ledger-eu' });
    bySection('HooklineSubscriptionRefused', 'says for one ref');
    bySection('HooklineSignaturesRefused', 'put the new signing secret before the old one');
    secrets('ledger-eu', { ...renewed, signingSecret: `${renewed.signingSecret}\n${old}` });
    for (const alert of ['HooklineSignaturesRefused', 'HooklineSubscriptionRefused'])
      await night.resolves(alert, { namespace });
  });

  it('are signed with the old secret long after the rotation: the provider is given the new one', async () => {
    const { signingSecret: old, subscriptionId } = keys.us;
    const { signingSecret } = newKeys();
    secrets('ledger-us', { subscriptionId, signingSecret: `${signingSecret}\n${old}` });
    using late = new Traffic({ url: `${ingress.url}/webhooks/ledger-us`, keys: keys.us });
    await night.fires('HooklineOldKeyInUse', { namespace, ref: 'ledger-us', use: 'signing' });
    bySection('HooklineOldKeyInUse', 'check whether the provider has the new key. If not, send it to them.');
    late.keys = { subscriptionId, signingSecret };
    await night.resolves('HooklineOldKeyInUse', { namespace, ref: 'ledger-us' });
  });
});
