import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../../runtime/clock.ts';
import { failDelivery, type Outcome, type SendBody } from '../faults/fail-delivery.ts';
import type { FaultRule } from '../faults/fault-plan.ts';
import type { PreparedDelivery } from './prepare-delivery.ts';

export type SendDeps = {
  readonly client: Dispatcher;
  readonly clock: Clock;
  /** Longest time from the start of an attempt until the receiver's answer. */
  readonly timeoutMs: number;
};

type Post = {
  readonly url: string;
  readonly headers: PreparedDelivery['headers'];
  readonly body: Buffer;
};

const MAX_RESPONSE_BYTES = 64 * 1024;

/** POSTs a delivery once. Never throws: a failure is an {@link Outcome} too. Redirects are not followed. */
export async function sendAttempt(
  post: Post,
  attempt: { fault: FaultRule | null; signal: AbortSignal },
  deps: SendDeps,
): Promise<Outcome> {
  const deadline = new AbortController();
  const cancel = () => deadline.abort(attempt.signal.reason);
  const timer = setTimeout(
    () => deadline.abort(new Error(`no answer within ${deps.timeoutMs} ms`)),
    // An injected delay does not count as the receiver's time.
    deps.timeoutMs + (attempt.fault?.kind === 'delay' ? (attempt.fault.ms ?? 0) : 0),
  );
  attempt.signal.addEventListener('abort', cancel, { once: true });
  if (attempt.signal.aborted) cancel();
  const send: SendBody = (body) => exchange(post, body, deadline.signal, deps.client);
  try {
    if (!attempt.fault) return await send(post.body);
    return await failDelivery(attempt.fault, {
      body: post.body,
      send,
      clock: deps.clock,
      signal: deadline.signal,
    });
  } catch (error) {
    return { status: null, error: reasonOf(deadline.signal.reason ?? error), responseBody: '' };
  } finally {
    clearTimeout(timer);
    attempt.signal.removeEventListener('abort', cancel);
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

/** The start of an answer's body. The status has decided already, so an incomplete body is no failure. */
async function readStart(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_RESPONSE_BYTES) break;
    }
  } catch {
    // The bytes that have arrived are enough.
  }
  return Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES).toString('utf8');
}

function reasonOf(error: unknown): string {
  const { code, message, cause } = error as { code?: string; message?: string; cause?: { code?: string } };
  const known = code ?? cause?.code;
  return known && message && !message.includes(known)
    ? `${known}: ${message}`
    : message || known || 'unknown';
}

export type ReceiverTls = {
  /** PEM of the authority that signed the receivers' certificates; undefined: Node's own list. */
  readonly ca: string | undefined;
  /** PEM of the client certificate and its key, for receivers with mutual TLS. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
};

/** The HTTP client for deliveries: reuses connections, at most `connections` to one receiver. */
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
