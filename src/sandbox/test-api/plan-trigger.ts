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
  /** Seed and `at` together determine every message. */
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

/** The start time of a trigger with a given seed and no `at`, so that its messages can be repeated byte for byte. */
const SEEDED_START = '2026-01-05T08:00:00.000Z';

/** Checks a request and returns everything that the trigger needs. Throws a SandboxError where it is impossible. */
export async function planTrigger(request: TriggerRequest, deps: PlanDeps): Promise<TriggerPlan> {
  const event = readEventName(request.event, deps.eventNames) as EventName;
  const seed = request.seed ?? randomInt(2 ** 32);
  const seeded = request.seed === undefined ? new Date(deps.now()).toISOString() : SEEDED_START;
  const at = request.at ?? seeded;
  const sealed = request.sealed || request.wrongKey;
  const layout = sealed ? layoutOf(request.layout ?? deps.defaultLayout) : null;
  const targets = targetsOf(request, event, deps.subscriptions);
  if (sealed && !request.wrongKey) targets.forEach(keyOf);
  const message = messagesOf(request, { event, seed, startMs: Date.parse(at) }, deps.messages);
  // The first message is made now, so that an impossible one is refused here.
  const first = await message(0);
  if (layout?.covers === 'payload') splitAtPayload(first.bytes, layout);
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
  throw new SandboxError('invalid_request', `${JSON.stringify(name)} is not a layout: use ${LAYOUT_SYNTAX}.`);
}

function targetsOf(
  request: TriggerRequest,
  event: EventName,
  subscriptions: SubscriptionStore,
): Subscription[] {
  const matching = subscriptions
    .all()
    .filter((one) => request.subscriptionId === undefined || one.id === request.subscriptionId)
    .filter((one) => request.url === undefined || one.url === request.url)
    .filter((one) => request.ref === undefined || refOf(one.url) === request.ref);
  const targets = matching.filter((one) => one.active && one.events.includes(event));
  if (targets.length > 0) return targets;
  const why =
    matching.length > 0 ? `none of the ${matching.length} that match` : 'no subscription that matches';
  throw new SandboxError('not_found', `There is no receiver: ${why} is active and subscribed to ${event}.`);
}

/** The ref of a receiver is the last segment of its path: …/webhooks/{ref}. */
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
