import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../core/clock.ts';
import { failDelivery, type Outcome, type SendBody } from '../faults/fail-delivery.ts';
import type { FaultRule } from '../faults/fault-plan.ts';
import type { PreparedDelivery } from './prepare-delivery.ts';

export type SendDeps = {
  readonly client: Dispatcher;
  readonly clock: Clock;
  /** From the start of an attempt until the receiver's answer. */
  readonly timeoutMs: number;
};

type Post = {
  readonly url: string;
  readonly headers: PreparedDelivery['headers'];
  readonly body: Buffer;
};

const KEPT_ANSWER_BYTES = 64 * 1024;

/** POSTs a delivery once. Never throws: every way it can end is an {@link Outcome}. Redirects are not followed. */
export async function sendAttempt(
  post: Post,
  attempt: { fault: FaultRule | null; signal: AbortSignal },
  parts: SendDeps,
): Promise<Outcome> {
  const deadline = new AbortController();
  const giveUp = () => deadline.abort(attempt.signal.reason);
  const timer = setTimeout(
    () => deadline.abort(new Error(`no answer within ${parts.timeoutMs} ms`)),
    // A fault that makes us slow doesn't use up the receiver's time.
    parts.timeoutMs + (attempt.fault?.kind === 'delay' ? (attempt.fault.ms ?? 0) : 0),
  );
  attempt.signal.addEventListener('abort', giveUp, { once: true });
  if (attempt.signal.aborted) giveUp();
  const send: SendBody = (body) => exchange(post, body, deadline.signal, parts.client);
  try {
    if (!attempt.fault) return await send(post.body);
    return await failDelivery(attempt.fault, {
      body: post.body,
      send,
      clock: parts.clock,
      signal: deadline.signal,
    });
  } catch (error) {
    return { status: null, error: reasonOf(deadline.signal.reason ?? error), responseBody: '' };
  } finally {
    clearTimeout(timer);
    attempt.signal.removeEventListener('abort', giveUp);
  }
}

async function exchange(
  post: Post,
  body: Buffer | AsyncIterable<Buffer>,
  signal: AbortSignal,
  client: Dispatcher,
): Promise<Outcome> {
  const answer = await request(post.url, {
    method: 'POST',
    headers: { ...post.headers, 'content-length': String(post.body.length) },
    body: body as Buffer,
    dispatcher: client,
    signal,
  });
  return { status: answer.statusCode, error: null, responseBody: await readStart(answer.body) };
}

/** The status has decided already: an answer that breaks off keeps what came of it. */
async function readStart(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of stream) {
      pieces.push(piece);
      length += piece.length;
      if (length >= KEPT_ANSWER_BYTES) break;
    }
  } catch {
    // Nothing to be done: what came is kept.
  }
  return Buffer.concat(pieces).subarray(0, KEPT_ANSWER_BYTES).toString('utf8');
}

function reasonOf(error: unknown): string {
  const { code, message, cause } = error as { code?: string; message?: string; cause?: { code?: string } };
  const known = code ?? cause?.code;
  return known && message && !message.includes(known)
    ? `${known}: ${message}`
    : message || known || 'unknown';
}

export type ReceiverTls = {
  /** PEM of the authority that signed the receivers' certificates; undefined: the well-known ones. */
  readonly ca: string | undefined;
  /** PEM of the client certificate and its key, for receivers that want mutual TLS. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
};

/** The HTTP client for deliveries: connections are kept and used again, at most `connections` to a receiver. */
export function openReceiverClient(options: {
  tls: ReceiverTls;
  connections: number;
  timeoutMs: number;
}): Agent {
  const { ca, cert, key } = options.tls;
  return new Agent({
    connections: options.connections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
    connect: {
      timeout: options.timeoutMs,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  });
}
