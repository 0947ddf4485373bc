import type { EventSpelling } from './event-names.ts';
import { type Json, setAt } from './json.ts';
import type { Subscription } from './subscription-store.ts';

/**
 * The shapes of the management operations' bodies, which the interface does not show. The format is the one of
 * Hookline's dialect file, so that one file can configure both sides. Hookline fills the templates; the sandbox reads
 * values out of them.
 *
 * In a `body` a value that is a single placeholder, such as "{url}", marks the position of that value in a request; any
 * other value must be in the request unchanged. The pointers (RFC 6901) are the positions of values in an answer.
 */
export type Dialect = {
  readonly create: {
    readonly body: Json;
    readonly response: { readonly id: string; readonly signingSecret: string };
  };
  readonly update: { readonly body: Json };
  /** `items` points into the answer, the others into each item. */
  readonly list: {
    readonly items: string;
    readonly id: string;
    readonly url: string;
    readonly events: string;
    readonly active: string;
  };
  readonly replay: { readonly body: Json };
  /**
   * Used by Hookline only: which fields its commands may add to a body. The sandbox keeps every further field, as the
   * interface does not exclude them.
   */
  readonly extra: { readonly allow: readonly string[] };
  /** How the list of subscriptions spells the events. Requests may also use the interface's own spellings. */
  readonly eventNames: EventSpelling;
  /** Used by the sandbox only: the status of each success, which the interface does not show. */
  readonly status: {
    readonly create: number;
    readonly update: number;
    readonly delete: number;
    readonly replay: number;
  };
};

export const DEFAULT_DIALECT: Dialect = {
  create: {
    body: { url: '{url}', events: '{events}', encryptionKey: '{encryptionKey}' },
    response: { id: '/id', signingSecret: '/signingSecret' },
  },
  update: { body: { url: '{url}', events: '{events}', encryptionKey: '{encryptionKey}' } },
  list: { items: '', id: '/id', url: '/url', events: '/events', active: '/active' },
  replay: { body: { executionId: '{executionId}' } },
  extra: { allow: [] },
  eventNames: {
    'payment-status': 'payment_status',
    'accounts-entries': 'accounts-entries',
    'collection-status': 'collection-status',
  },
  status: { create: 201, update: 200, delete: 204, replay: 202 },
};

/** The name of the placeholder if the value is a single placeholder, else null. */
export function placeholderIn(value: Json): string | null {
  return typeof value === 'string' ? (/^\{(\w+)\}$/.exec(value)?.[1] ?? null) : null;
}

/** The answer to a creation: the only answer of the provider's API with the signing secret. */
export function writeCreated(subscription: Subscription, dialect: Dialect): Json {
  const { id, signingSecret } = dialect.create.response;
  return setAt(setAt({}, id, subscription.id), signingSecret, subscription.signingSecret);
}

/** All active subscriptions, without secrets. */
export function writeList(subscriptions: readonly Subscription[], dialect: Dialect): Json {
  const items = subscriptions.filter((one) => one.active).map((one) => writeItem(one, dialect));
  return setAt({}, dialect.list.items, items);
}

/** One subscription as the list shows it; the answer to an update is the same. */
export function writeItem(subscription: Subscription, dialect: Dialect): Json {
  const fields: [string, Json][] = [
    [dialect.list.id, subscription.id],
    [dialect.list.url, subscription.url],
    [dialect.list.events, subscription.events.map((event) => dialect.eventNames[event])],
    [dialect.list.active, subscription.active],
  ];
  return fields.reduce<Json>((item, [pointer, value]) => setAt(item, pointer, value), {});
}
