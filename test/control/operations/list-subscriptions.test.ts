import { describe, expect, it } from 'vitest';
import { create, openControlHarness, PUBLIC_URL } from '../../support/control-harness.ts';

describe('a list', () => {
  it('says what the provider has, and which of it is whose', async () => {
    await using harness = await openControlHarness();
    const foreign = await harness.seed({ events: ['accounts-entries'] });
    const { subscriptionId } = await harness.run(create('a'));
    const result = await harness.run({ type: 'subscription.list' });
    expect(result).toMatchObject({ status: 'SUCCEEDED', ref: null, message: '2 listed' });
    expect(result.subscriptions).toEqual([
      { subscriptionId: foreign.id, url: foreign.url, events: ['accounts-entries'], ref: null },
      { subscriptionId, url: `${PUBLIC_URL}/webhooks/a`, events: ['payment_status'], ref: 'a' },
    ]);
  });

  it('says in what the provider differs from the state', async () => {
    await using harness = await openControlHarness();
    const foreign = await harness.seed();
    const { subscriptionId } = await harness.run(create('a'));
    await harness.run(create('b'));
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${subscriptionId}`);
    const { drift } = await harness.run({ type: 'subscription.list' });
    expect(drift).toEqual([
      {
        ref: 'a',
        subscriptionId,
        errorCode: 'SUBSCRIPTION_MISSING',
        message: expect.stringContaining('no longer lists the subscription'),
      },
      {
        ref: null,
        subscriptionId: foreign.id,
        errorCode: 'SUBSCRIPTION_FOREIGN',
        message: expect.stringContaining(foreign.url),
      },
    ]);
  });

  it('shows a topic with a pattern what is of its refs, and nothing of others', async () => {
    const ledger = 'payments.commands-ledger';
    await using harness = await openControlHarness({ refPatterns: { [ledger]: ['ledger-*'] } });
    await harness.seed({ events: ['accounts-entries'] });
    const toAdopt = await harness.seed({ url: `${PUBLIC_URL}/webhooks/ledger-old` });
    const { subscriptionId: gone } = await harness.run(create('other'));
    const { subscriptionId } = await harness.run(create('ledger-eu'), ledger);
    await harness.run(create('other-2'));
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${gone}`);
    const result = await harness.run({ type: 'subscription.list' }, ledger);
    expect(result.message).toBe('2 listed, of refs that match ledger-*');
    expect(result.subscriptions?.map((one) => [one.subscriptionId, one.ref])).toEqual([
      [toAdopt.id, null],
      [subscriptionId, 'ledger-eu'],
    ]);
    expect(result.drift?.map((one) => [one.subscriptionId, one.errorCode])).toEqual([
      [toAdopt.id, 'SUBSCRIPTION_FOREIGN'],
    ]);
  });

  it('of another shape than the dialect says has FAILED', async () => {
    await using harness = await openControlHarness();
    await harness.sandbox.fail({ operation: 'list', kind: 'status', code: 200, body: {} });
    expect(await harness.run({ type: 'subscription.list' })).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
      subscriptions: null,
    });
  });
});
