import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ControlFixture } from '../../support/control-fixture.ts';
import { until } from '../../support/until.ts';
import { Night } from './night.ts';
import { untilSeen } from './prometheus.ts';
import { bySection } from './runbook.ts';

const namespace = 'payments';
const SETTINGS = { RECONCILE_INTERVAL_MS: '2000', COMMAND_DEADLINE_MS: '60000' };
let the: ControlFixture;
let night: Night;
/** What an operator's pod has: the settings of control. */
let env: Record<string, string | undefined>;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'), SETTINGS);
  env = { ...the.fixture.env, ...the.fixture.controlEnv(the.urls) };
  night = await Night.begin();
  await night.watch(namespace, 'ingress', the.ingress.process);
  await night.watch(namespace, 'control', the.control);
  expect(await create('ledger-eu')).toMatchObject({ status: 'SUCCEEDED' });
});

afterAll(async () => {
  await the?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
});

const subscription = (ref: string) => ({ type: 'subscription.create', ref, events: ['payment-status'] });
const create = (ref: string) => the.run(subscription(ref));
const faults = (...rules: object[]) => the.sandbox.call('PUT', '/_sandbox/faults', { json: rules });
const logs = (message: string) => until(message, () => the.control.lines.some(({ msg }) => msg === message));

const REF = { REF: 'ledger-eu' };
const deleteAnd = () =>
  night.run('HooklineSignaturesRefused', 'hookline command subscription.delete --ref REF --wait', env, REF);
const createAnew = () =>
  night.run(
    'HooklineSignaturesRefused',
    'hookline command subscription.create --ref REF --events EVENTS --wait',
    env,
    { ...REF, EVENTS: 'payment_status' },
  );
const atService = async () => {
  const [one] = (await the.subscriptions()).filter(({ url }) => url.endsWith('/ledger-eu'));
  return one ?? expect.fail('not there');
};

describe('at night, the provider', () => {
  it('is down: commands wait, one fails; when it is back, what failed is sent again', async () => {
    const failures = ['token', 'list', 'create'].map((operation) => ({
      operation,
      kind: 'status',
      code: 503,
    }));
    await faults(...failures.map((rule) => ({ ...rule, times: null })));
    const commandId = randomUUID();
    await the.send('ledger-us', { commandId, ...subscription('ledger-us') });
    await night.fires('HooklineProviderDown', { namespace });
    await night.fires('HooklineCommandsWait', { namespace, topic: the.fixture.topic('commands') });
    bySection('HooklineCommandsWait', 'wait or see [HooklineProviderDown]');
    expect(await night.run('HooklineProviderDown', 'hookline doctor', env)).toContain('503');
    bySection('HooklineProviderDown', 'commands are tried again until `COMMAND_DEADLINE_MS`');
    await night.fires('HooklineCommandsFail', { namespace, type: 'subscription.create' });
    expect(await the.result(commandId)).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
    });

    await faults();
    bySection('HooklineCommandsFail', 'Send a failed command again as a new one');
    expect(await create('ledger-us')).toMatchObject({ status: 'SUCCEEDED' });
    for (const alert of ['HooklineProviderDown', 'HooklineCommandsWait', 'HooklineCommandsFail'])
      await night.resolves(alert, { namespace });
  });

  it('has lost a subscription: it is deleted here, and created anew', async () => {
    await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${(await atService()).id}`);
    await night.fires('HooklineSubscriptionDrift', { namespace, kind: 'missing' });
    const results = 'hookline tail command-results --since 1h --json';
    const more = `--limit ${(await the.fixture.read('command-results')).length}`;
    const told = await night.run('HooklineSubscriptionDrift', results, env, { more });
    expect(told).toContain('SUBSCRIPTION_MISSING');
    bySection(
      'HooklineSubscriptionDrift',
      '`subscription.delete` and then `subscription.create` for `missing`',
    );
    await deleteAnd();
    await createAnew();
    await night.resolves('HooklineSubscriptionDrift', { namespace });
    const [delivered] = await the.trigger({ ref: 'ledger-eu' });
    expect(delivered?.status).toBe(200);
  });

  it('lists nothing, though it has all: nothing is taken for lost, and its list is right again', async () => {
    await faults({ operation: 'list', kind: 'status', code: 200, body: { items: [] }, times: null });
    await night.fires('HooklineNotCompared', { namespace });
    await logs('the provider could not be compared with the state');
    bySection('HooklineNotCompared', 'its list is wrong: tell the provider');
    await faults();
    await night.resolves('HooklineNotCompared', { namespace });
    expect((await the.trigger({ ref: 'ledger-eu' }))[0]?.status).toBe(200);
  });

  it('signs with a secret that nobody has, for a ref that has a Secret: that goes, and it is created anew', async () => {
    const { id, url, events, encryptionKey, signingSecret } = await atService();
    the.fixture.secrets('ledger-eu', { 'subscription-id': id, 'signing-secret': signingSecret });
    const json = { id, url, events, encryptionKey, signingSecret: randomUUID() };
    await the.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    const sending = setInterval(() => void the.trigger({ ref: 'ledger-eu', retry: false }), 500);
    await night.fires('HooklineSignaturesRefused', { namespace });
    await deleteAnd();
    bySection('HooklineSignaturesRefused', "remove the ref's Secret, if it has one");
    the.fixture.forget('ledger-eu');
    await createAnew();
    await night.resolves('HooklineSignaturesRefused', { namespace });
    clearInterval(sending);
    expect((await the.trigger({ ref: 'ledger-eu' }))[0]?.status).toBe(200);
  });

  it('has lost more than may be repaired at once: the limit is raised, and they are repaired', async () => {
    const begin = async (max: string) => {
      await the.control.stop();
      const more = { RECONCILE: 'repair', RECONCILE_REPAIR_MAX: max };
      the.control = await the.fixture.control(the.urls, { ...SETTINGS, ...more });
      await night.watch(namespace, 'control', the.control);
    };
    for (const ref of ['ledger-de', 'ledger-fr']) await create(ref);
    const lost = (await the.subscriptions()).filter(({ url }) => !url.endsWith('/ledger-eu'));
    expect(lost.length).toBeGreaterThan(1);
    await begin('1');
    for (const { id } of lost) await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    await night.fires('HooklineRepairsWithheld', { namespace });
    expect(
      await night.run('HooklineRepairsWithheld', 'hookline command subscription.list --wait', env),
    ).toContain('SUBSCRIPTION_MISSING');
    bySection('HooklineRepairsWithheld', 'set `control.settings.RECONCILE_REPAIR_MAX` to their number');
    await begin(String(lost.length));
    await night.resolves('HooklineRepairsWithheld', { namespace });
    await until('they are there again', async () => (await the.subscriptions()).length === lost.length + 1);
    await the.control.stop();
    the.control = await the.fixture.control(the.urls, SETTINGS);
    await night.watch(namespace, 'control', the.control);
  });

  it('takes the JWT no longer: it is renewed, and nothing is restarted', async () => {
    // Of a process that never had one there is no age to look at.
    const hadToken = `hookline_token_obtained_timestamp_seconds{namespace="${namespace}"} > 0`;
    await untilSeen(
      'control has a token',
      async () => (await night.prometheus.query(hadToken)).length > 0,
      60_000,
    );
    the.fixture.file('jwt', 'one-that-has-expired');
    await the.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await night.fires('HooklineTokenRefused', { namespace });
    expect(await night.run('HooklineTokenRefused', 'hookline doctor', env)).toMatch(/token.*(400|401)/s);
    bySection('HooklineTokenRefused', 'It is read again with the next request; nothing is restarted.');
    the.fixture.file('jwt', 'sandbox-lite-jwt');
    await night.resolves('HooklineTokenRefused', { namespace });
  });

  it('grants fewer scopes than were asked for: they are granted', async () => {
    const fewer = { operation: 'token', kind: 'alter', set: { '/scope': 'accounts.read' }, times: null };
    await faults(fewer);
    await the.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await night.fires('HooklineScopesNarrower', { namespace });
    await logs('the access token has fewer scopes than were asked for');
    bySection('HooklineScopesNarrower', 'have them granted');
    await faults();
    await the.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await night.resolves('HooklineScopesNarrower', { namespace });
  });
});
