import { describe, expect, it } from 'vitest';
import type { SubscriptionRecord } from '../../src/subscriptions/subscription-record.ts';
import { signingSecret, subscriptionId } from '../support/delivery-parts.ts';
import { post, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status"}';
const requested: SubscriptionRecord = {
  ref: 'new-one',
  state: 'REQUESTED',
  subscriptionId: null,
  receiverUrl: 'https://hooks.example/webhooks/new-one',
  events: [],
  owner: 'payments.commands',
  sealedKeys: null,
  commandId: null,
  updatedAt: 0,
};

describe('a webhook for a subscription that is being created', () => {
  it('waits for the key, and is then judged by it', async () => {
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, {});
    const good = post(`${ingress.url}/webhooks/new-one`, body);
    const wrong = post(`${ingress.url}/webhooks/new-one`, body, { 'x-signature-sha256': '0'.repeat(64) });
    const early = await Promise.race([
      good,
      wrong,
      new Promise((resolve) => setTimeout(resolve, 200, 'waiting')),
    ]);
    expect(early).toBe('waiting');
    ingress.keyring.setRecord(
      'new-one',
      { ...requested, state: 'ACTIVE', subscriptionId },
      { signingSecret },
    );
    expect([(await good).status, (await wrong).status]).toEqual([200, 401]);
  });

  it('is answered 503 with Retry-After when the key does not come', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 20_000 });
    ingress.keyring.setRecord('new-one', requested, {});
    const response = await post(`${ingress.url}/webhooks/new-one`, body);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.text()).toContain('KEY_PENDING');
  });

  it('is judged at once when the intent is withdrawn', async () => {
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, {});
    const answer = post(`${ingress.url}/webhooks/new-one`, body);
    await new Promise((resolve) => setTimeout(resolve, 100));
    ingress.keyring.setRecord('new-one', null, null);
    expect((await answer).status).toBe(401);
  });
});
