import { randomInt } from 'node:crypto';
import { SandboxError } from '../core/errors.ts';
import { type EventName, type EventSpelling, readEventName } from '../core/event-names.ts';
import { newSigningSecret, type Subscription, type SubscriptionStore } from '../core/subscription-store.ts';
import { LAYOUT_SYNTAX, type Layout, readLayout } from '../deliveries/layout.ts';
import { keyOf, type Preparation, splitAtPayload } from '../deliveries/prepare-delivery.ts';
import { describeRaw, type Message } from '../messages/make-message.ts';
import type { MessageMaker } from '../messages/message-maker.ts';
import { readHeaders, type TriggerRequest } from './trigger-request.ts';

export type TriggerPlan = {
  readonly event: EventName;
  readonly count: number;
  readonly rate: number | null;
  readonly ordered: boolean;
  readonly retry: boolean;
  /** With `at` it determines every message; a seed alone starts at a fixed time. */
  readonly seed: number;
  readonly at: string;
  readonly targets: readonly Subscription[];
  readonly message: (n: number) => Promise<Message>;
  readonly preparation: Omit<Preparation, 'message' | 'subscription'>;
};

export type PlanDeps = {
  readonly subscriptions: SubscriptionStore;
  readonly eventNames: EventSpelling;
  readonly defaultLayout: string;
  readonly messages: MessageMaker;
  readonly now: () => number;
};

/** Where the messages of a run with a given seed begin, so that they can be had again byte for byte. */
const SEEDED_START = '2026-01-05T08:00:00.000Z';

/** Turns a request into all that a run needs, or throws a refusal that says what can't be done. */
export async function planTrigger(request: TriggerRequest, parts: PlanDeps): Promise<TriggerPlan> {
  const event = readEventName(request.event, parts.eventNames) as EventName;
  const seed = request.seed ?? randomInt(2 ** 32);
  const seeded = request.seed === undefined ? new Date(parts.now()).toISOString() : SEEDED_START;
  const at = request.at ?? seeded;
  const sealed = request.sealed || request.wrongKey;
  const layout = sealed ? layoutOf(request.layout ?? parts.defaultLayout) : null;
  const targets = targetsOf(request, event, parts.subscriptions);
  if (sealed && !request.wrongKey) targets.forEach(keyOf);
  const message = messagesOf(request, { event, seed, startMs: Date.parse(at) }, parts.messages);
  // The first one is made now, so that what can't be made is refused here.
  const first = await message(0);
  if (layout?.place === 'payload') splitAtPayload(first.bytes, layout);
  return {
    event,
    count: request.count,
    rate: request.rate ?? null,
    ordered: request.ordered,
    retry: request.retry,
    seed,
    at,
    targets,
    message: async (n) => (n === 0 ? first : message(n)),
    preparation: {
      sealing: layout && { layout, names: request.envelope },
      headers: readHeaders(request.headers),
      ...(request.wrongKey ? { wrongKey: newSigningSecret().slice(0, 32) } : {}),
      ...(request.tamper ? { tamper: request.tamper } : {}),
    },
  };
}

function layoutOf(name: string): Layout {
  const layout = readLayout(name);
  if (layout) return layout;
  throw new SandboxError('invalid_request', `${JSON.stringify(name)} is no layout: give ${LAYOUT_SYNTAX}.`);
}

function targetsOf(
  request: TriggerRequest,
  event: EventName,
  subscriptions: SubscriptionStore,
): Subscription[] {
  const named = subscriptions
    .all()
    .filter((one) => request.subscriptionId === undefined || one.id === request.subscriptionId)
    .filter((one) => request.url === undefined || one.url === request.url)
    .filter((one) => request.ref === undefined || refOf(one.url) === request.ref);
  const targets = named.filter((one) => one.active && one.events.includes(event));
  if (targets.length > 0) return targets;
  const why = named.length > 0 ? `none of the ${named.length} that match` : 'no subscription that matches';
  throw new SandboxError('not_found', `Nobody would get it: ${why} is active and subscribed to ${event}.`);
}

/** A receiver's ref is the last step of its path: …/webhooks/{ref}. */
const refOf = (url: string) => URL.parse(url)?.pathname.split('/').at(-1);

type Origin = { event: EventName; seed: number; startMs: number };

function messagesOf(request: TriggerRequest, origin: Origin, messages: MessageMaker) {
  const { rawBody } = request;
  if (rawBody !== undefined) {
    if (
      request.overrides ||
      request.sizeBytes ||
      Object.keys(request.set).length > 0 ||
      request.unknownType
    ) {
      throw new SandboxError(
        'invalid_request',
        'A raw body is sent as it is: leave out overrides, set, sizeBytes and unknownType.',
      );
    }
    const raw = describeRaw(Buffer.from(rawBody));
    return async () => raw;
  }
  const spec = {
    ...origin,
    type: typeOf(request, origin.event),
    entities: request.entities ?? null,
    status: request.status,
    transactions: request.transactions,
    overrides: request.overrides ?? null,
    set: request.set,
    sizeBytes: request.sizeBytes ?? null,
  };
  return (n: number) => messages.make(spec, n);
}

function typeOf(request: TriggerRequest, event: EventName): string {
  if (typeof request.unknownType === 'string') return request.unknownType;
  if (request.unknownType) return 'sandbox-unknown';
  return request.spelling === 'underscore' ? event.replaceAll('-', '_') : event;
}
