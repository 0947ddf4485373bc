import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { Operation } from '../core/operations.ts';

/** A request to the provider's API. Headers and bodies are not kept: they contain tokens and keys. */
export type LoggedRequest = {
  /** null: the interface has no operation with this method and path. */
  readonly operation: Operation | null;
  readonly method: string;
  readonly path: string;
  readonly at: string;
  /** null: no complete answer was sent, or not yet. */
  status: number | null;
  durationMs: number | null;
};

export type RequestLog = ReturnType<typeof createRequestLog>;

/** The last 10,000 requests, oldest first. */
export function createRequestLog() {
  const kept: LoggedRequest[] = [];
  return {
    add(request: LoggedRequest): void {
      kept.push(request);
      if (kept.length > 10_000) kept.shift();
    },
    list: (operation?: string) =>
      kept.filter((one) => operation === undefined || one.operation === operation),
    clear(): void {
      kept.length = 0;
    },
  };
}

/** Records every request except those to the test API. */
export function logRequests(app: FastifyInstance, deps: { requests: RequestLog; clock: Clock }): void {
  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    if (path === '/livez' || path.startsWith('/_sandbox/')) return;
    const start = deps.clock.wall();
    const entry: LoggedRequest = {
      operation: request.routeOptions.config.operation ?? null,
      method: request.method,
      path,
      at: new Date(start).toISOString(),
      status: null,
      durationMs: null,
    };
    deps.requests.add(entry);
    const settle = (status: number | null) => {
      if (entry.durationMs !== null) return;
      entry.status = status;
      entry.durationMs = deps.clock.wall() - start;
    };
    reply.raw.once('finish', () => settle(reply.raw.statusCode));
    reply.raw.once('close', () => settle(null));
  });
}
