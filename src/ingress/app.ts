import type { Server } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { HooklineError } from '../core/errors.ts';
import type { Tracer } from '../runtime/tracer.ts';
import { type Answer, errorAnswer, receiptAnswer } from './answers.ts';
import type { IngressObserver } from './ingress-observer.ts';
import { receiveWebhook, traceparentOf, type WebhookParts } from './receive-webhook.ts';
import { answerSocket, connectionError, lingerOn } from './refuse-connection.ts';
import type { TlsFiles } from './tls-files.ts';
import { traceWebhook } from './trace-webhook.ts';

export type AppParts = WebhookParts & {
  readonly observer: IngressObserver;
  readonly trustedProxies: readonly string[];
  readonly requestTimeoutMs: number;
  /** Aborted before the stop: what comes is still taken, and connections are ended with their next answer. */
  readonly leaving: AbortSignal;
  readonly tls: TlsFiles | undefined;
  readonly tracer: Tracer | undefined;
};

/** Until the head of a request has arrived, or half of REQUEST_TIMEOUT_MS where that is less. */
const HEADERS_TIMEOUT_MS = 20_000;

/** The webhooks' HTTP server, apart from its `listen`. */
export function createIngressApp(parts: AppParts): FastifyInstance {
  const checking = { connectionsCheckingInterval: Math.min(1_000, parts.requestTimeoutMs) };
  const app = fastify({
    trustProxy: parts.trustedProxies.length > 0 ? [...parts.trustedProxies] : false,
    requestTimeout: parts.requestTimeoutMs,
    // What still comes on open connections is refused here, in the contract's words.
    return503OnClosing: false,
    // Bodies are read and bounded here, not by the framework.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    ...(parts.tls ? { https: { ...parts.tls.options(), ...checking } } : { http: checking }),
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET') return;
      const failure = connectionError(error);
      parts.observer.refused(failure, undefined, undefined);
      answerSocket(failure, socket);
    },
  }) as unknown as FastifyInstance;
  // Node looks at neither time-out where that of the headers is the longer one.
  app.server.headersTimeout = Math.min(HEADERS_TIMEOUT_MS, Math.ceil(parts.requestTimeoutMs / 2));
  parts.tls?.renewOn(app.server as never);
  answerExpectations(app.server);
  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    parts.memory.pacer.hurry();
  });
  const send = (reply: FastifyReply, { status, body, retryAfter }: Answer) => {
    // The sender's next request then takes a new connection, to a process that stays; one that was left open would
    // hold up the stop, and be cut in the middle of a request.
    if (stopping || parts.leaving.aborted) reply.header('connection', 'close');
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    return reply.code(status).type('application/json').send(body);
  };
  const lingering = {
    maxBodyBytes: parts.maxBodyBytes,
    pacer: parts.memory.pacer,
    isStopping: () => stopping,
  };
  // Of its own: the framework's `reply.elapsedTime` stays 0 where it neither logs nor has a hook on the response.
  const secondsSince = (began: number) => (performance.now() - began) / 1_000;
  const refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown, began?: number) => {
    const { ref } = (request.params ?? {}) as { ref?: string };
    parts.observer.refused(error, ref, began === undefined ? undefined : secondsSince(began));
    // A sender that still waits for a go-ahead won't send its body: the connection can't be used again.
    if (isExpecting(request)) reply.header('connection', 'close');
    else lingerOn(request.raw, lingering);
    return send(reply, errorAnswer(error));
  };
  app.removeAllContentTypeParsers();
  // Named ones are looked up; what falls to the asterisk is taken apart anew for each request.
  const unread = ['application/json', 'application/octet-stream', '*'];
  for (const type of unread) app.addContentTypeParser(type, (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => refuse(request, reply, new HooklineError('NOT_FOUND')));
  app.setErrorHandler((error, request, reply) => refuse(request, reply, asFailure(error)));
  app.post<{ Params: { ref: string } }>('/webhooks/:ref', async (request, reply) => {
    const began = performance.now();
    try {
      if (stopping) throw new HooklineError('STOPPING');
      const { ref } = request.params;
      const wantBody = () => continueIfExpected(request, reply);
      const { ip: address, headers, raw } = request;
      const given = traceparentOf(headers);
      const receive = (traceparent: string | undefined) =>
        receiveWebhook({ ref, address, headers, raw, wantBody, traceparent }, parts);
      const receipt = await (parts.tracer
        ? traceWebhook(parts.tracer, { ref, traceparent: given }, receive)
        : receive(given));
      parts.observer.accepted(ref, receipt, secondsSince(began));
      return send(reply, receiptAnswer(receipt));
    } catch (error) {
      return refuse(request, reply, error, began);
    }
  });
  return app;
}

/** What the framework refuses by itself, in our words. */
function asFailure(error: unknown): unknown {
  const { statusCode } = error as { statusCode?: number };
  return statusCode === 415
    ? new HooklineError('MEDIA_TYPE_UNSUPPORTED', undefined, { cause: error })
    : error;
}

const EXPECTING = Symbol('expects 100-continue');

/** By default Node tells every sender to go ahead; here it does so only for a body that is wanted. */
function answerExpectations(server: Server): void {
  server.on('checkContinue', (request, response) => {
    Object.assign(request, { [EXPECTING]: true });
    server.emit('request', request, response);
  });
}

function isExpecting({ raw }: FastifyRequest): boolean {
  return (raw as unknown as { [EXPECTING]?: boolean })[EXPECTING] === true;
}

function continueIfExpected(request: FastifyRequest, reply: FastifyReply): void {
  if (!isExpecting(request)) return;
  Object.assign(request.raw, { [EXPECTING]: false });
  reply.raw.writeContinue();
}
