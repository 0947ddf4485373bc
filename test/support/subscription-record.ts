import type { SubscriptionRecord } from '../../src/subscriptions/subscription-record.ts';

/** The record of an active subscription of `a` without keys. */
export const subscriptionRecord = (given: Partial<SubscriptionRecord> = {}): SubscriptionRecord => ({
  ref: 'a',
  state: 'ACTIVE',
  subscriptionId: '1'.repeat(36),
  receiverUrl: '',
  events: [],
  owner: 'commands',
  sealedKeys: null,
  commandId: null,
  updatedAt: 1,
  ...given,
});
