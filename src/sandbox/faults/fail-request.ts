import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import { isObject, type Json, removeAt, setAt } from '../core/json.ts';
import { DEFAULT_CHUNKS, replacementFor, sendSlowly, truncate } from './fault-bytes.ts';
import type { FaultPlan, FaultRule } from './fault-plan.ts';

type FailDeps = { readonly clock: Clock; readonly stopping: AbortSignal };
type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

declare module 'fastify' {
  interface FastifyRequest {
    /** The fault that applies to this request. */
    fault: FaultRule | null;
  }
}

/** Applies the planned faults to the interface's operations, before any other hook. */
export function applyFaults(app: FastifyInstance, deps: FailDeps & { faults: FaultPlan }): void {
  app.decorateRequest('fault', null);
  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    request.fault = operation ? deps.faults.take(operation) : null;
    if (!request.fault || !isInsteadOf(request.fault)) return undefined;
    return failInstead(request.fault, { request, reply });
  });
  // Not earlier: once the body is read, the operation continues even if the caller leaves.
  app.addHook('preHandler', async (request, reply) => {
    if (request.fault?.kind !== 'delay') return undefined;
    return delay(request.fault, { request, reply }, deps);
  });
  app.addHook('onSend', async (request, reply, answer) => {
    if (!request.fault || isInsteadOf(request.fault)) return answer;
    return failAfter(request.fault, { request, reply }, answer, deps);
  });
}

/** Whether the fault replaces the operation; otherwise it changes the operation's answer. */
function isInsteadOf(rule: FaultRule): boolean {
  if (rule.kind === 'drop-before') return true;
  return ['status', 'redirect', 'html-200', 'hang'].includes(rule.kind) && rule.effect !== true;
}

/** Waits. The operation is executed even if the caller has closed the connection meanwhile, as at a real provider. */
async function delay(rule: FaultRule, { reply }: Exchange, deps: FailDeps) {
  const stopped = await deps.clock.sleep(rule.ms ?? 0, { signal: deps.stopping }).then(
    () => false,
    () => true,
  );
  return stopped ? reply.hijack() : undefined;
}

/** Answers (or does not answer) instead of the operation. */
async function failInstead(rule: FaultRule, { request, reply }: Exchange): Promise<FastifyReply> {
  if (rule.kind === 'hang') {
    await untilClosed(request);
    return reply.hijack();
  }
  if (rule.kind === 'drop-before') {
    request.raw.socket.destroy();
    return reply.hijack();
  }
  const answer = replacementFor(rule);
  if (!answer) throw new Error(`the fault ${rule.kind} has no answer of its own`);
  return reply.code(answer.status).headers(answer.headers).send(answer.body);
}

/** Changes the answer of the operation, which has had its effect. Returns what is sent. */
async function failAfter(
  rule: FaultRule,
  { request, reply }: Exchange,
  answer: unknown,
  deps: FailDeps,
): Promise<unknown> {
  const replacement = replacementFor(rule);
  if (replacement) {
    reply.code(replacement.status).headers(replacement.headers);
    return replacement.body;
  }
  if (rule.kind === 'hang') await untilClosed(request);
  if (rule.kind === 'drop-after') request.raw.socket.destroy();
  if (typeof answer !== 'string') return answer;
  const bytes = Buffer.from(answer);
  switch (rule.kind) {
    case 'malformed-json':
      return `${answer.slice(0, -1)},,`;
    case 'alter':
      return reply.statusCode < 300 ? alter(answer, rule) : answer;
    case 'truncated-body':
      reply.header('content-length', bytes.length);
      return Readable.from(truncate(bytes));
    case 'slow-body': {
      reply.header('content-length', bytes.length);
      const chunks = rule.pieces ?? DEFAULT_CHUNKS;
      const pace = { chunks, ms: rule.ms ?? 0, clock: deps.clock, signal: deps.stopping };
      return Readable.from(sendSlowly(bytes, pace));
    }
    default:
      return answer;
  }
}

function alter(answer: string, rule: FaultRule): string {
  let document = JSON.parse(answer) as Json;
  for (const pointer of rule.remove ?? []) removeAt(document, pointer);
  for (const [pointer, value] of Object.entries(rule.set ?? {})) {
    // A pointer that does not fit the answer changes nothing: the test sees the real answer.
    if (isObject(document) || Array.isArray(document)) document = trySet(document, pointer, value);
  }
  return JSON.stringify(document);
}

function trySet(document: Json, pointer: string, value: Json): Json {
  try {
    return setAt(document, pointer, value);
  } catch (error) {
    if (error instanceof TypeError) return document;
    throw error;
  }
}

const untilClosed = async ({ raw }: FastifyRequest) => {
  if (!raw.socket.destroyed) await once(raw.socket, 'close');
};
