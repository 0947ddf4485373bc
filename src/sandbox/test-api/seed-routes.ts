import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { SandboxError } from '../core/errors.ts';
import { type EventSpelling, readEventNames } from '../core/event-names.ts';
import type { Json } from '../core/json.ts';
import { newSigningSecret, newSubscriptionId, type SubscriptionStore } from '../core/subscription-store.ts';
import { readEncryptionKey, readReceiverUrl, readSigningPart } from '../core/subscription-values.ts';

export type SeedDeps = {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly subscriptions: SubscriptionStore;
  readonly eventNames: EventSpelling;
  readonly allowHttpReceivers: boolean;
};

type Seed = {
  readonly id?: string;
  readonly signingSecret?: string;
  readonly encryptionKey?: string | null;
  readonly url: string;
  readonly events: Json[];
  readonly active: boolean;
};

const SEED_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['url', 'events'],
  properties: {
    id: { type: 'string' },
    signingSecret: { type: 'string' },
    encryptionKey: { type: ['string', 'null'] },
    url: { type: 'string' },
    events: { type: 'array' },
    active: { type: 'boolean', default: true },
  },
} as const;

/** `/_sandbox/subscriptions`: lists them with their secrets, adds one, removes one; no token is needed. */
export function seedRoutes(app: FastifyInstance, deps: SeedDeps): void {
  const { subscriptions, logger } = deps;
  app.get('/_sandbox/subscriptions', async () => subscriptions.all());

  app.post<{ Body: Seed }>(
    '/_sandbox/subscriptions',
    { schema: { body: SEED_SCHEMA } },
    async ({ body }, reply) => {
      const seeded = subscriptions.put({
        id: readSigningPart(body.id ?? newSubscriptionId(), 'id'),
        signingSecret: readSigningPart(body.signingSecret ?? newSigningSecret(), 'signing secret'),
        encryptionKey: readEncryptionKey(body.encryptionKey),
        url: readReceiverUrl(body.url, deps.allowHttpReceivers),
        events: readEventNames(body.events, deps.eventNames),
        active: body.active,
        extra: {},
        createdAt: new Date(deps.clock.wall()).toISOString(),
      });
      const { id, url, events } = seeded;
      logger.info({ subscriptionId: id, url, events }, 'subscription added');
      return reply.code(201).send(seeded);
    },
  );

  app.delete<{ Params: { id: string } }>('/_sandbox/subscriptions/:id', async ({ params }, reply) => {
    if (!subscriptions.remove(params.id)) {
      throw new SandboxError('not_found', 'There is no subscription with this id.');
    }
    logger.info({ subscriptionId: params.id }, 'subscription removed');
    return reply.code(204).send();
  });
}
