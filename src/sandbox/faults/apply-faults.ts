import type { FastifyInstance } from 'fastify';
import { delay, type FailParts, failAfter, failInstead, isInsteadOf } from './fail-request.ts';
import type { FaultPlan, FaultRule } from './fault-plan.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The fault that hits this request. */
    fault: FaultRule | null;
  }
}

/** Plays the planned faults on the interface's operations, before anything else looks at a request. */
export function applyFaults(app: FastifyInstance, parts: FailParts & { faults: FaultPlan }): void {
  app.decorateRequest('fault', null);
  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    request.fault = operation ? parts.faults.take(operation) : null;
    if (!request.fault || !isInsteadOf(request.fault)) return undefined;
    return failInstead(request.fault, { request, reply });
  });
  // Not earlier: once the body is read the operation no longer depends on the caller's patience.
  app.addHook('preHandler', async (request, reply) => {
    if (request.fault?.kind !== 'delay') return undefined;
    return delay(request.fault, { request, reply }, parts);
  });
  app.addHook('onSend', async (request, reply, answer) => {
    if (!request.fault || isInsteadOf(request.fault)) return answer;
    return failAfter(request.fault, { request, reply }, answer, parts);
  });
}
