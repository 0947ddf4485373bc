/**
 * The test API: what tests and demonstrations call. It needs no token, and reads every body as JSON.
 *
 *   POST   /_sandbox/trigger             sends webhooks; TRIGGER_SCHEMA has the fields. `wait: true` (or "first")
 *                                        answers after the first attempt of each, "final" when each is final,
 *                                        both after `waitMs` at the latest; without it 202 with an id to poll
 *   GET    /_sandbox/triggers/{id}       a trigger's progress and executions (`?bodies=false`: without bodies)
 *   DELETE /_sandbox/triggers/{id}       cancels the messages that were not sent yet
 *   GET    /_sandbox/executions          `?limit=100&subscriptionId=&triggerId=&state=`, newest first, without bodies
 *   GET    /_sandbox/executions/{id}     one, with headers, message and sent bytes in base64
 *   GET    /_sandbox/subscriptions       all, with id, signingSecret and encryptionKey
 *   POST   /_sandbox/subscriptions       adds one: `{url, events, id?, signingSecret?, encryptionKey?, active?}`
 *   DELETE /_sandbox/subscriptions/{id}  removes one without a call of the provider's API
 *   PUT    /_sandbox/faults              `[{operation, kind, times, …}]`; FAULT_KINDS has the kinds and their fields
 *   GET    /_sandbox/faults              the same, with `remaining` and `hits`
 *   DELETE /_sandbox/faults              clears them
 *   POST   /_sandbox/tokens/revoke       revokes every token; answers `{revoked: n}`
 *   GET    /_sandbox/requests            `?operation=`: requests to the provider's API, oldest first
 *   POST   /_sandbox/reset               forgets everything, as after a start
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

export type TestApiDeps = SeedDeps &
  TriggerRouteDeps &
  Parameters<typeof faultRoutes>[1] & {
    readonly tokens: TokenStore;
    readonly requests: RequestLog;
    readonly reset: () => Promise<void>;
  };

export function testRoutes(deps: TestApiDeps) {
  return async (app: FastifyInstance): Promise<void> => {
    readJsonBodies(app);
    triggerRoutes(app, deps);
    executionRoutes(app, deps);
    seedRoutes(app, deps);
    faultRoutes(app, deps);
    app.get('/livez', async () => ({ status: 'ok' }));
    app.post('/_sandbox/tokens/revoke', async () => ({ revoked: deps.tokens.revokeAll() }));
    app.get<{ Querystring: { operation?: string } }>('/_sandbox/requests', async ({ query }) =>
      deps.requests.list(query.operation),
    );
    app.post('/_sandbox/reset', async (_request, reply) => {
      await deps.reset();
      return reply.code(204).send();
    });
  };
}

type Filter = { limit?: string; subscriptionId?: string; triggerId?: string; state?: string };

/** `GET /_sandbox/executions` (newest first, without bodies) and `GET /_sandbox/executions/{id}` (with all bytes). */
function executionRoutes(app: FastifyInstance, deps: { executions: ExecutionStore }): void {
  app.get<{ Querystring: Filter }>('/_sandbox/executions', async ({ query }) =>
    deps.executions
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
    const execution = deps.executions.get(params.id);
    if (!execution)
      throw new SandboxError('not_found', 'There is no execution with this id, or it is no longer kept.');
    return describeInFull(execution);
  });
}

/** The number of entries that a list returns. */
function readLimit(text = '100'): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new SandboxError('invalid_request', 'limit must be a whole number from 1 to 9999999.');
}

/** 64 MiB of a raw body, its escapes in JSON, and the rest of the request. */
const BODY_LIMIT_BYTES = 96 * 1024 * 1024;

/** Reads every body as JSON and an empty one as `{}`, whatever the Content-Type: `curl -d` sends a form's by default. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES },
    async (_request: unknown, body: Buffer) => (body.length === 0 ? {} : parseJson(body)),
  );
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });
}
