import { expect, it } from 'vitest';
import { HeldResults } from '../../../src/console/results/held-results.ts';
import type { CommandResult } from '../../../src/core/command.ts';

const BEFORE = { ref: null, subscriptionId: null, status: 'SUCCEEDED', errorCode: null, message: null };

function holding(limits: { results?: number; drift?: number } = {}) {
  const held = new HeldResults(limits);
  let end = 0n;
  const take = (more: Partial<CommandResult>) =>
    held.take({ partition: 0, offset: end++ }, {
      commandId: 'c',
      ...BEFORE,
      finishedAt: Number(end),
      subscriptions: null,
      drift: null,
      ...more,
    } as CommandResult);
  const drift = (ref: string | null, finishedAt: number, errorCode: string | null = 'SUBSCRIPTION_MISSING') =>
    take({ ref, subscriptionId: `s-${ref}`, status: 'DRIFT', errorCode, finishedAt });
  const refs = () => held.drift().map(({ ref }) => ref);
  return { held, take, drift, refs };
}

it('of one command the first result counts, not that it is a duplicate', () => {
  const { held, take } = holding();
  take({ status: 'DUPLICATE' });
  expect(held.of('c')).toMatchObject({ status: 'DUPLICATE', finishedAt: 1 });
  take({ status: 'REJECTED' });
  take({ status: 'DUPLICATE' });
  // A process whose clock is slow.
  take({ status: 'SUCCEEDED', finishedAt: 0 });
  expect(held.of('c')?.status).toBe('REJECTED');
  expect(held.of('other')).toBeUndefined();
});

it('a report of drift is no result of a command', () => {
  const { held, drift } = holding();
  drift('eu', 1);
  expect(held.of('c')).toBeUndefined();
});

it('holds a record once, however often it is read', () => {
  const { held, take } = holding();
  take({});
  held.take({ partition: 0, offset: 0n }, held.latest()[0] as CommandResult);
  expect(held.latest()).toHaveLength(1);
});

it('holds the latest results, in whatever order they come', () => {
  const { held, take } = holding({ results: 10 });
  for (let n = 0; n < 100; n++) take({ finishedAt: (n * 37) % 100 });
  expect(held.latest().map(({ finishedAt }) => finishedAt)).toEqual([99, 98, 97, 96, 95, 94, 93, 92, 91, 90]);
  expect(held.isPartial).toBe(true);
});

it('shows the last drift of each subscription, however the partitions are read', () => {
  const { drift, refs } = holding();
  drift('eu', 2, null);
  drift('eu', 1);
  drift(null, 1);
  drift('us', 4, 'SUBSCRIPTION_CHANGED');
  drift('us', 3, null);
  expect(refs()).toEqual([null, 'us']);
  drift('eu', 5);
  drift('us', 6, null);
  expect(refs().toSorted()).toEqual(['eu', null]);
});

it('drift outlasts the results around it', () => {
  const { drift, take, refs } = holding({ results: 10 });
  drift('eu', 1);
  for (let n = 0; n < 100; n++) take({ finishedAt: 10 + n });
  expect(refs()).toEqual(['eu']);
});

it('bounds drift: ended ones go first, and that open ones are missing is told', () => {
  const { held, drift, refs } = holding({ drift: 10 });
  for (let n = 0; n < 8; n++) drift(`open-${n}`, n);
  for (let n = 0; n < 100; n++) drift(`ended-${n}`, 10 + n, null);
  expect(refs()).toHaveLength(8);
  expect(held.isDriftPartial).toBe(false);
  for (let n = 8; n < 100; n++) drift(`open-${n}`, 1_000 + n);
  expect(refs().length).toBeLessThanOrEqual(11);
  expect(refs()).toContain('open-99');
  expect(held.isDriftPartial).toBe(true);
});

it('holds the first entries of a large list, and says how many it does not hold', () => {
  const { held, take } = holding();
  const subscription = (n: number, url: string) => ({
    subscriptionId: `s-${n}`,
    url,
    events: ['a'],
    ref: null,
  });
  const list = (of: number, url = 'https://hooks.example/1') =>
    Array.from({ length: of }, (_, n) => subscription(n, url));
  const drift = list(30_000).map(({ subscriptionId }) => ({
    ref: null,
    subscriptionId,
    errorCode: 'SUBSCRIPTION_FOREIGN',
    message: 'it is foreign',
  }));
  take({ commandId: 'few', subscriptions: list(20) });
  take({ commandId: 'many', subscriptions: list(30_000), drift });
  take({ commandId: 'large', subscriptions: list(3, 'u'.repeat(1_000_000)), message: 'm'.repeat(1_000_000) });
  expect(held.of('few')).toMatchObject({ subscriptions: list(20), moreSubscriptions: 0, moreDrift: 0 });
  const many = held.of('many');
  expect(many?.subscriptions).toEqual(list(50));
  expect(many).toMatchObject({ moreSubscriptions: 29_950, moreDrift: 30_000 - (many?.drift?.length ?? 0) });
  expect(held.of('large')).toMatchObject({ subscriptions: [], moreSubscriptions: 3 });
  for (const result of held.latest()) expect(JSON.stringify(result).length).toBeLessThan(20_000);
});
