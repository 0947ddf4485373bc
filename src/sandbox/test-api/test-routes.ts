/**
 * The sandbox's own API. It needs no token, and every body is JSON whatever its Content-Type says.
 *
 *   POST   /_sandbox/trigger             fires deliveries; TRIGGER_SCHEMA has the fields. `wait: true` (or "first")
 *                                        answers when each had its first attempt, "final" when each is at its end,
 *                                        both after `waitMs` at the latest; otherwise 202 with an id to poll
 *   GET    /_sandbox/triggers/{id}       a trigger's progress and executions (`?bodies=false` leaves bodies out)
 *   DELETE /_sandbox/triggers/{id}       stops its firing
 *   GET    /_sandbox/executions          `?limit=100&subscriptionId=&triggerId=&state=`, newest first, no bodies
 *   GET    /_sandbox/executions/{id}     one with headers, message and the bytes sent, in base64
 *   GET    /_sandbox/subscriptions       all, with id, signingSecret and encryptionKey
 *   POST   /_sandbox/subscriptions       puts one in: `{url, events, id?, signingSecret?, encryptionKey?, active?}`
 *   DELETE /_sandbox/subscriptions/{id}  takes one out behind the customer's back
 *   PUT    /_sandbox/faults              `[{operation, kind, times, …}]`; FAULT_KINDS has the kinds and their fields
 *   GET    /_sandbox/faults              the same with `remaining` and `hits`
 *   DELETE /_sandbox/faults              clears them
 *   POST   /_sandbox/tokens/revoke       makes every token invalid; answers `{revoked: n}`
 *   GET    /_sandbox/requests            `?operation=`: the requests to the emulated service, oldest first
 *   POST   /_sandbox/reset               forgets everything, as if just started
 *   GET    /livez                        200 while the process serves
 */

import type { FastifyInstance } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { describeExecution, describeInFull, type ExecutionStore } from '../deliveries/execution-store.ts';
import type { TokenStore } from '../provider-api/token-store.ts';
import { faultRoutes } from './fault-routes.ts';
import type { RequestLog } from './request-log.ts';
import { type SeedDeps, seedRoutes } from './seed-routes.ts';
import { type TriggerRouteDeps, triggerRoutes } from './trigger-routes.ts';

export type ControlDeps = SeedDeps &
  TriggerRouteDeps &
  Parameters<typeof faultRoutes>[1] & {
    readonly tokens: TokenStore;
    readonly requests: RequestLog;
    readonly reset: () => Promise<void>;
  };

export function controlRoutes(parts: ControlDeps) {
  return async (app: FastifyInstance): Promise<void> => {
    readJsonBodies(app);
    triggerRoutes(app, parts);
    executionRoutes(app, parts);
    seedRoutes(app, parts);
    faultRoutes(app, parts);
    app.get('/livez', async () => ({ status: 'ok' }));
    app.post('/_sandbox/tokens/revoke', async () => ({ revoked: parts.tokens.revokeAll() }));
    app.get<{ Querystring: { operation?: string } }>('/_sandbox/requests', async ({ query }) =>
      parts.requests.list(query.operation),
    );
    app.post('/_sandbox/reset', async (_request, reply) => {
      await parts.reset();
      return reply.code(204).send();
    });
  };
}

type Filter = { limit?: string; subscriptionId?: string; triggerId?: string; state?: string };

/** `GET /_sandbox/executions` (newest first, without bodies) and `GET /_sandbox/executions/{id}` (with all bytes). */
function executionRoutes(app: FastifyInstance, parts: { executions: ExecutionStore }): void {
  app.get<{ Querystring: Filter }>('/_sandbox/executions', async ({ query }) =>
    parts.executions
      .list(
        (one) =>
          (query.subscriptionId === undefined || one.subscriptionId === query.subscriptionId) &&
          (query.triggerId === undefined || one.triggerId === query.triggerId) &&
          (query.state === undefined || one.state === query.state),
        readLimit(query.limit),
      )
      .map((one) => describeExecution(one, { body: false })),
  );
  app.get<{ Params: { id: string } }>('/_sandbox/executions/:id', async ({ params }) => {
    const execution = parts.executions.get(params.id);
    if (!execution) throw new SandboxError('not_found', 'There is no execution with this id, or no more.');
    return describeInFull(execution);
  });
}

/** How many entries of a list are wanted; 100 where nothing is said. */
function readLimit(text = '100'): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new SandboxError('invalid_request', 'limit must be a whole number from 1 to 9999999.');
}

/** 64 MiB of a raw body, its escapes in JSON, and the rest of the request. */
const CONTROL_BODY_LIMIT = 96 * 1024 * 1024;

/** Reads every body as JSON, whatever its type says, and none as `{}`: `curl -d` sends forms and nobody means them. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: CONTROL_BODY_LIMIT },
    async (_request: unknown, body: Buffer) => (body.length === 0 ? {} : parseJson(body)),
  );
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });
}
