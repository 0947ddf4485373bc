import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../core/clock.ts';
import { isObject, type Json, removeAt, setAt } from '../core/json.ts';
import { cutInHalf, DEFAULT_PIECES, sendSlowly, standInFor } from './fault-bytes.ts';
import type { FaultPlan, FaultRule } from './fault-plan.ts';

export type FailDeps = { readonly clock: Clock; readonly stopping: AbortSignal };
type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** Whether the fault happens in the place of the operation; otherwise it happens to the operation's answer. */
export function isInsteadOf(rule: FaultRule): boolean {
  if (rule.kind === 'drop-before') return true;
  return ['status', 'redirect', 'html-200', 'hang'].includes(rule.kind) && rule.effect !== true;
}

/** Waits. The caller may be gone by the end of it: the operation is carried out all the same, as in real life. */
export async function delay(rule: FaultRule, { reply }: Exchange, parts: FailDeps) {
  const stopped = await parts.clock.sleep(rule.ms ?? 0, parts.stopping).then(
    () => false,
    () => true,
  );
  return stopped ? reply.hijack() : undefined;
}

/** Plays the fault in the place of the operation, which ends the request. */
export async function failInstead(rule: FaultRule, { request, reply }: Exchange): Promise<FastifyReply> {
  if (rule.kind === 'hang') {
    await untilGone(request);
    return reply.hijack();
  }
  if (rule.kind === 'drop-before') {
    request.raw.socket.destroy();
    return reply.hijack();
  }
  const answer = standInFor(rule);
  if (!answer) throw new Error(`the fault ${rule.kind} has no answer of its own`);
  return reply.code(answer.status).headers(answer.headers).send(answer.body);
}

/** Plays the fault on the operation's answer, which has had its effect. Returns what is sent. */
export async function failAfter(
  rule: FaultRule,
  { request, reply }: Exchange,
  answer: unknown,
  parts: FailDeps,
): Promise<unknown> {
  const stand = standInFor(rule);
  if (stand) {
    reply.code(stand.status).headers(stand.headers);
    return stand.body;
  }
  if (rule.kind === 'hang') await untilGone(request);
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
      return Readable.from(cutInHalf(bytes));
    case 'slow-body': {
      reply.header('content-length', bytes.length);
      const pieces = rule.pieces ?? DEFAULT_PIECES;
      const pace = { pieces, ms: rule.ms ?? 0, clock: parts.clock, signal: parts.stopping };
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
    // A way that leads through a plain value is left alone: a test that asked for it sees the real answer.
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

const untilGone = async ({ raw }: FastifyRequest) => {
  if (!raw.socket.destroyed) await once(raw.socket, 'close');
};

declare module 'fastify' {
  interface FastifyRequest {
    /** The fault that hits this request. */
    fault: FaultRule | null;
  }
}

/** Plays the planned faults on the interface's operations, before anything else looks at a request. */
export function applyFaults(app: FastifyInstance, parts: FailDeps & { faults: FaultPlan }): void {
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
