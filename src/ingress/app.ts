import type { Server } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { HooklineError } from '../core/errors.ts';
import { errorAnswer, receiptAnswer } from './answers.ts';
import type { IngressObserver } from './ingress-observer.ts';
import { receiveWebhook, type WebhookParts } from './receive-webhook.ts';
import { answerSocket, connectionError, lingerOn } from './refuse-connection.ts';
import type { TlsFiles } from './tls-files.ts';

export type AppParts = WebhookParts & {
  readonly observer: IngressObserver;
  readonly trustedProxies: readonly string[];
  readonly requestTimeoutMs: number;
  readonly tls: TlsFiles | undefined;
};

/** The webhooks' HTTP server, apart from its `listen`. */
export function createIngressApp(parts: AppParts): FastifyInstance {
  const app = fastify({
    trustProxy: parts.trustedProxies.length > 0 ? [...parts.trustedProxies] : false,
    requestTimeout: parts.requestTimeoutMs,
    // Bodies are read and bounded here, not by the framework.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    ...(parts.tls ? { https: parts.tls.options() } : {}),
    http: { connectionsCheckingInterval: Math.min(1_000, parts.requestTimeoutMs) },
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET') return;
      const failure = connectionError(error);
      parts.observer.refused(failure, undefined);
      answerSocket(failure, socket);
    },
  }) as unknown as FastifyInstance;
  parts.tls?.renewOn(app.server as never);
  answerExpectations(app.server);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => refuse(request, reply, new HooklineError('NOT_FOUND'), parts));
  app.setErrorHandler((error, request, reply) => refuse(request, reply, asFailure(error), parts));
  app.post<{ Params: { ref: string } }>('/webhooks/:ref', async (request, reply) => {
    const receipt = await receiveWebhook(
      {
        ref: request.params.ref,
        address: request.ip,
        headers: request.headers,
        raw: request.raw,
        wantBody: () => continueIfExpected(request, reply),
      },
      parts,
    );
    const answer = receiptAnswer(receipt);
    parts.observer.accepted(request.params.ref, receipt);
    return reply.type('application/json').send(answer.body);
  });
  return app;
}

function refuse(request: FastifyRequest, reply: FastifyReply, error: unknown, parts: AppParts): FastifyReply {
  parts.observer.refused(error, (request.params as { ref?: string } | undefined)?.ref);
  const answer = errorAnswer(error);
  if (answer.retryAfter !== undefined) reply.header('retry-after', answer.retryAfter);
  // A sender that still waits for a go-ahead won't send its body: the connection can't be used again.
  if (isExpecting(request)) reply.header('connection', 'close');
  else lingerOn(request.raw);
  return reply.code(answer.status).type('application/json').send(answer.body);
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
