import { describe, expect, it } from 'vitest';
import { create, openControlDesk, PUBLIC_URL } from '../../support/control-desk.ts';

describe('a list', () => {
  it('says what the payment service has, and which of it is whose', async () => {
    await using desk = await openControlDesk();
    const foreign = await desk.seed({ events: ['accounts-entries'] });
    const { subscriptionId } = await desk.run(create('a'));
    const result = await desk.run({ type: 'subscription.list' });
    expect(result).toMatchObject({ status: 'SUCCEEDED', ref: null, message: '2 listed' });
    expect(result.subscriptions).toEqual([
      { subscriptionId: foreign.id, url: foreign.url, events: ['accounts-entries'], ref: null },
      { subscriptionId, url: `${PUBLIC_URL}/webhooks/a`, events: ['payment_status'], ref: 'a' },
    ]);
  });

  it('of another shape than the dialect says has FAILED', async () => {
    await using desk = await openControlDesk();
    await desk.sandbox.fail({ operation: 'list', kind: 'html-200' });
    expect(await desk.run({ type: 'subscription.list' })).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
      subscriptions: null,
    });
  });
});
