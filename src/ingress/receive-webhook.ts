import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Delivery, isLarge, type Receipt, type VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { SignatureCheck } from '../crypto/signature.ts';
import { type AcceptPorts, acceptDelivery } from '../delivery/accept-delivery.ts';
import type { Clock } from '../runtime/clock.ts';
import { readTraceparent } from '../runtime/tracing.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import { checkWithAwaitedKey } from './body/await-key.ts';
import type { BodyMemory } from './body/body-memory.ts';
import { markProven } from './body/open-bodies.ts';
import { takeBody } from './body/take-body.ts';

export type WebhookRequest = {
  readonly ref: string;
  /** Of the sender, behind trusted proxies. */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: IncomingMessage;
  /** Called when the body is wanted: answers `Expect: 100-continue`. */
  readonly wantBody: () => void;
  /** Passed on with the event; that of its span, where there is one. */
  readonly traceparent: string | undefined;
};

export type WebhookDeps = {
  readonly delivery: AcceptPorts;
  readonly keyring: LiveKeyring;
  readonly memory: BodyMemory;
  readonly clock: Clock;
  readonly maxBodyBytes: number;
  readonly isAllowedSource: (address: string) => boolean;
  /** Called when a large body begins to arrive. */
  readonly onLargeBody: () => void;
};

/** From an HTTP request to an accepted delivery: what is HTTP about a webhook, and no more. */
export async function receiveWebhook(request: WebhookRequest, deps: WebhookDeps): Promise<Receipt> {
  const { ref, headers } = request;
  const { socket } = request.raw;
  if (!deps.isAllowedSource(request.address)) throw new HooklineError('SOURCE_NOT_ALLOWED');
  const mediaType = admitRequest(headers, deps.maxBodyBytes);
  const header = headerOf(headers, 'x-signature-sha256');
  const isEarly = deps.keyring.isPending(ref) && SignatureCheck.isWellFormed(header);
  const taken = await takeBody({ ...request, signature: header, isEarly }, deps);
  const { body, check } = taken;
  if (!isLarge(taken)) await deps.memory.arriving.together(body.length);
  let kept = 0;
  const store = (verified: VerifiedDelivery): Promise<Receipt> => {
    markProven(socket);
    // A large one has its memory already.
    const bytes = isLarge(verified) ? 0 : body.length;
    const keep = () => {
      kept = bytes;
      taken.leave();
      return deps.delivery.store(verified);
    };
    if (bytes === 0) return deps.delivery.store(verified);
    return deps.memory.stored.tryAcquire(bytes) ? keep() : deps.memory.acquireStored(bytes).then(keep);
  };
  try {
    const { traceparent } = request;
    const delivery: Delivery = { ref, mediaType, body, receivedAt: deps.clock.wall(), traceparent };
    const judging = isEarly ? await checkWithAwaitedKey(ref, { ...taken, socket, header }, deps) : check;
    const { observer } = deps.delivery;
    return await acceptDelivery(delivery, { check: judging, header }, { observer, store });
  } finally {
    taken.leave();
    deps.memory.stored.release(kept);
  }
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** What isn't one is left out: it becomes a header of a record. */
export function traceparentOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headerOf(headers, 'traceparent');
  return value !== undefined && readTraceparent(value) ? value : undefined;
}

const MAX_HEADERS = 100;

/**
 * What Node's parser lets through although RFC 9112 asks for a 400: requests that a proxy in front could read in another
 * way than we do.
 * @returns how the head is at fault, if it is
 */
export function faultOfHead(request: IncomingMessage): 'HEADERS_TOO_LARGE' | 'REQUEST_MALFORMED' | undefined {
  const { rawHeaders, headers, httpVersion } = request;
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'HEADERS_TOO_LARGE';
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  const coding = headers['transfer-encoding'];
  if (httpVersion === '1.1') {
    return hosts === 1 && (coding === undefined || coding.toLowerCase() === 'chunked')
      ? undefined
      : 'REQUEST_MALFORMED';
  }
  // HTTP/1.0 has neither a Host that must be there nor a transfer coding.
  return httpVersion === '1.0' && hosts <= 1 && coding === undefined ? undefined : 'REQUEST_MALFORMED';
}

/**
 * Checks a request before its body is read.
 * @returns the body's media type
 * @throws HooklineError MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE
 */
export function admitRequest(headers: IncomingHttpHeaders, maxBodyBytes: number): Delivery['mediaType'] {
  const mediaType = readMediaType(headers['content-type']);
  // A coded body could not be verified: whether the signature is over the coded bytes is not specified.
  if (!mediaType || headers['content-encoding'] !== undefined)
    throw new HooklineError('MEDIA_TYPE_UNSUPPORTED');
  if (Number(headers['content-length']) > maxBodyBytes) throw new HooklineError('BODY_TOO_LARGE');
  return mediaType;
}

function readMediaType(contentType: string | undefined): Delivery['mediaType'] | null {
  if (contentType === 'application/json') return 'json';
  if (contentType === 'application/octet-stream') return 'octet-stream';
  switch (contentType?.split(';', 1)[0]?.trim().toLowerCase()) {
    case 'application/json':
      return 'json';
    case 'application/octet-stream':
      return 'octet-stream';
    default:
      return null;
  }
}
