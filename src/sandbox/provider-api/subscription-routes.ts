import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type Dialect, placeholderIn, writeCreated, writeItem, writeList } from '../core/dialect.ts';
import { SandboxError } from '../core/errors.ts';
import { readEventNames } from '../core/event-names.ts';
import { isObject, type Json, type JsonObject, parseJson } from '../core/json.ts';
import {
  newSigningSecret,
  newSubscriptionId,
  type Subscription,
  type SubscriptionStore,
} from '../core/subscription-store.ts';
import { readEncryptionKey, readReceiverUrl } from '../core/subscription-values.ts';
import type { Execution } from '../deliveries/execution-store.ts';
import { bodyOf, takeRawBodies } from './token-routes.ts';
import { requireToken, type TokenStore } from './token-store.ts';

export type SubscriptionRouteDeps = RequestRules & {
  readonly logger: Logger;
  readonly tokens: TokenStore;
  readonly subscriptions: SubscriptionStore;
  readonly replay: (executionId: string) => Execution;
};

type ById = { Params: { id: string } };

/** Webhook management (interface, section 4.2): the path of the collection is plural, that of an item singular. */
export function subscriptionRoutes(deps: SubscriptionRouteDeps) {
  const { dialect, subscriptions, logger } = deps;
  return async (app: FastifyInstance): Promise<void> => {
    takeRawBodies(app);
    app.addHook('onRequest', requireToken(deps.tokens));

    app.get('/subscriptions', { config: { operation: 'list' } }, async () =>
      writeList(subscriptions.all(), dialect),
    );

    app.post('/subscriptions', { config: { operation: 'create' } }, async (request, reply) => {
      const created = subscriptions.put(readCreation(jsonOf(request), deps));
      logger.info(summary(created), 'subscription created');
      return reply.code(dialect.status.create).send(writeCreated(created, dialect));
    });

    app.put<ById>('/subscription/:id', { config: { operation: 'update' } }, async (request, reply) => {
      const known = find(request.params.id, subscriptions);
      const updated = subscriptions.put(readUpdate(jsonOf(request), known, deps));
      logger.info(summary(updated), 'subscription updated');
      return reply.code(dialect.status.update).send(writeItem(updated, dialect));
    });

    app.delete<ById>('/subscription/:id', { config: { operation: 'delete' } }, async (request, reply) => {
      const known = find(request.params.id, subscriptions);
      subscriptions.remove(known.id);
      logger.info(summary(known), 'subscription deleted');
      return reply.code(dialect.status.delete).send();
    });

    app.post('/executions/replay-execution', { config: { operation: 'replay' } }, async (request, reply) => {
      const id = readByTemplate(dialect.replay.body, jsonOf(request)).values.get('executionId');
      if (typeof id !== 'string') {
        throw new SandboxError('invalid_request', 'The body must name the execution to replay.');
      }
      const { id: executionId } = deps.replay(id);
      return reply.code(dialect.status.replay).send({ executionId });
    });
  };
}

function jsonOf(request: FastifyRequest): Json {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new SandboxError(
      'unsupported_media_type',
      'The header Content-Type: application/json is required.',
    );
  }
  return parseJson(bodyOf(request));
}

function find(id: string, subscriptions: SubscriptionStore): Subscription {
  const known = subscriptions.get(id);
  if (!known) throw new SandboxError('not_found', 'There is no subscription with this id.');
  return known;
}

const summary = ({ id, url, events }: Subscription) => ({ subscriptionId: id, url, events });

type RequestRules = {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly allowHttpReceivers: boolean;
};

/** The new subscription of a create request. */
function readCreation(body: Json, rules: RequestRules): Subscription {
  const { values, extra } = readByTemplate(rules.dialect.create.body, body);
  return {
    id: newSubscriptionId(),
    signingSecret: newSigningSecret(),
    encryptionKey: readEncryptionKey(values.get('encryptionKey')),
    url: readReceiverUrl(values.get('url'), rules.allowHttpReceivers),
    events: readEventNames(values.get('events'), rules.dialect.eventNames),
    active: true,
    extra,
    createdAt: new Date(rules.clock.wall()).toISOString(),
  };
}

/** The subscription after an update request; fields that are not in the request stay. */
function readUpdate(body: Json, known: Subscription, rules: RequestRules): Subscription {
  if (!isObject(body)) throw new SandboxError('invalid_request', 'The body must be a JSON object.');
  const { values, extra } = readByTemplate(rules.dialect.update.body, body);
  if (values.size === 0 && Object.keys(extra).length === 0) {
    throw new SandboxError('invalid_request', 'The body changes nothing.');
  }
  return {
    ...known,
    ...(values.has('url') ? { url: readReceiverUrl(values.get('url'), rules.allowHttpReceivers) } : {}),
    ...(values.has('events')
      ? { events: readEventNames(values.get('events'), rules.dialect.eventNames) }
      : {}),
    ...(values.has('encryptionKey') ? { encryptionKey: readEncryptionKey(values.get('encryptionKey')) } : {}),
    extra: Object.fromEntries([...Object.entries(known.extra), ...Object.entries(extra)]),
  };
}

export type Reading = {
  /** The body's values at the template's placeholders, by their names; absent values have no entry. */
  readonly values: ReadonlyMap<string, Json>;
  /** Fields of the body that are not in the template: kept, as the interface does not exclude them. */
  readonly extra: JsonObject;
};

/** Reads a request's body by a template of the dialect. Throws `invalid_request` where the body does not match. */
export function readByTemplate(template: Json, body: Json): Reading {
  const values = new Map<string, Json>();
  walk(template, body, '', values);
  const others =
    isObject(template) && isObject(body)
      ? Object.entries(body).filter(([name]) => !Object.hasOwn(template, name))
      : [];
  return { values, extra: Object.fromEntries(others) };
}

function walk(template: Json, value: Json | undefined, pointer: string, values: Map<string, Json>): void {
  const name = placeholderIn(template);
  if (name !== null) {
    if (value !== undefined) values.set(name, value);
  } else if (Array.isArray(template)) {
    const items = value ?? [];
    if (!Array.isArray(items)) throw mismatch(pointer, 'a list');
    for (const [i, item] of template.entries()) walk(item, items[i], `${pointer}/${i}`, values);
  } else if (isObject(template)) {
    const fields = value ?? {};
    if (!isObject(fields)) throw mismatch(pointer, 'an object');
    for (const [key, item] of Object.entries(template)) {
      walk(item, Object.hasOwn(fields, key) ? fields[key] : undefined, `${pointer}/${key}`, values);
    }
  } else if (value !== template) {
    throw mismatch(pointer, JSON.stringify(template));
  }
}

const mismatch = (pointer: string, wanted: string) =>
  new SandboxError('invalid_request', `${pointer === '' ? 'The body' : pointer} must be ${wanted}.`);
