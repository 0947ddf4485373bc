import { describe, expect, it } from 'vitest';
import { findDrift } from '../../../src/control/operations/find-drift.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import type { ListedItem } from '../../../src/provider/provider-api.ts';
import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import { PUBLIC_URL } from '../../support/control-harness.ts';

const record: SubscriptionRecord = {
  ref: 'a',
  state: 'ACTIVE',
  subscriptionId: 'id',
  receiverUrl: `${PUBLIC_URL}/webhooks/a`,
  events: ['payment-status'],
  owner: 'commands',
  sealedKeys: null,
  commandId: 'c',
  updatedAt: 0,
};
const item: ListedItem = {
  id: 'id',
  url: `${PUBLIC_URL}/webhooks/a`,
  events: ['payment-status'],
  isActive: true,
};

const kindsOf = (items: readonly ListedItem[], records: readonly SubscriptionRecord[] = [record]) =>
  findDrift({
    records,
    items,
    dialect: DEFAULT_DIALECT,
    publicUrl: PUBLIC_URL,
    deadlineMs: 1_000,
    now: 0,
  }).map(({ kind, detail }) => (kind === 'changed' ? `${kind}: ${detail}` : kind));

describe('drift', () => {
  it('is none where the list says what the state says, or does not show it', () => {
    expect(kindsOf([item])).toEqual([]);
    expect(kindsOf([{ ...item, events: null }])).toEqual([]);
    expect(kindsOf([{ ...item, url: null }])).toEqual([]);
  });

  it('is no comparison with events that are not known, as of an adopted subscription', () => {
    expect(kindsOf([item], [{ ...record, events: [] }])).toEqual([]);
  });

  it('says what is another than it should be', () => {
    const url = 'https://elsewhere.example';
    expect(kindsOf([{ ...item, url, events: [] }])).toEqual([
      `changed: its address is ${url} instead of ${item.url}; its events are none instead of payment-status`,
    ]);
  });

  it('is stray where its address is that of a ref, and foreign anywhere else', () => {
    const others = ['/webhooks/b', '/webhooks/', '/webhooks/b/', '/b'].map((path, n) => ({
      ...item,
      id: `other-${n}`,
      url: `${PUBLIC_URL}${path}`,
    }));
    expect(kindsOf([item, ...others])).toEqual(['stray', 'foreign', 'foreign', 'foreign']);
  });
});
