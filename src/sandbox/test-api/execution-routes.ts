import type { FastifyInstance } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import { describeExecution, describeInFull, type ExecutionStore } from '../deliveries/execution-store.ts';

type Filter = { limit?: string; subscriptionId?: string; triggerId?: string; state?: string };

/** `GET /_sandbox/executions` (newest first, without bodies) and `GET /_sandbox/executions/{id}` (with all bytes). */
export function executionRoutes(app: FastifyInstance, parts: { executions: ExecutionStore }): void {
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
