import type { Dialect } from './dialect.ts';
import { type Json, setAt } from './json.ts';
import type { Subscription } from './subscription-store.ts';

/** The answer to a creation: the one moment at which the signing secret is shown. */
export function writeCreated(subscription: Subscription, dialect: Dialect): Json {
  const { id, signingSecret } = dialect.create.response;
  return setAt(setAt({}, id, subscription.id), signingSecret, subscription.signingSecret);
}

/** All active subscriptions, without secrets. */
export function writeList(subscriptions: readonly Subscription[], dialect: Dialect): Json {
  const items = subscriptions.filter((one) => one.active).map((one) => writeItem(one, dialect));
  return setAt({}, dialect.list.items, items);
}

/** One subscription as the list shows it; an update is answered with it too. */
export function writeItem(subscription: Subscription, dialect: Dialect): Json {
  const fields: [string, Json][] = [
    [dialect.list.id, subscription.id],
    [dialect.list.url, subscription.url],
    [dialect.list.events, subscription.events.map((event) => dialect.eventNames[event])],
    [dialect.list.active, subscription.active],
  ];
  return fields.reduce<Json>((item, [pointer, value]) => setAt(item, pointer, value), {});
}
