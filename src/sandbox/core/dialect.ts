import type { EventSpelling } from './event-names.ts';
import { type Json, setAt } from './json.ts';
import type { Subscription } from './subscription-store.ts';

/**
 * What the interface doesn't show of the management operations: the shapes of their bodies. The format is the one of
 * the connector's own dialect file, so that one file can set both sides; the sandbox reads the templates backwards.
 *
 * In a `body` a value that is one placeholder, such as "{url}", says where that value stands in a request; other
 * values must stand there as they are. The pointers (RFC 6901) say where values stand in an answer.
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
   * The connector's alone: which fields its commands may add to a body. Here further fields are kept in any case, as the
   * interface doesn't rule them out.
   */
  readonly extra: { readonly allow: readonly string[] };
  /** How the list of subscriptions spells the events. In requests the interface's own spellings are taken too. */
  readonly eventNames: EventSpelling;
  /** The sandbox's alone: the status of each success, which the interface doesn't show either. */
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

/** The name inside a value that is one placeholder; null for anything else. */
export function placeholderIn(value: Json): string | null {
  return typeof value === 'string' ? (/^\{(\w+)\}$/.exec(value)?.[1] ?? null) : null;
}

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
