import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Delivery, isLarge, type Receipt, type VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { SignatureCheck } from '../crypto/signature.ts';
import { type AcceptPorts, acceptDelivery } from '../delivery/accept-delivery.ts';
import { readTraceparent } from '../runtime/tracing.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import type { BodyMemory } from './body/body-memory.ts';
import { markProven } from './body/connection-standing.ts';
import { type TakenBody, takeBody } from './body/take-body.ts';

export type WebhookRequest = {
  readonly ref: string;
  /** Of the sender, behind trusted proxies. */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: IncomingMessage;
  /** Called when the body is wanted: answers `Expect: 100-continue`. */
  readonly wantBody: () => void;
  /** Goes on with the event; that of its span, where there is one. */
  readonly traceparent: string | undefined;
};

export type WebhookParts = {
  readonly delivery: AcceptPorts;
  readonly keyring: LiveKeyring;
  readonly memory: BodyMemory;
  readonly maxBodyBytes: number;
  readonly isAllowedSource: (address: string) => boolean;
};

/** How long a delivery waits for the key of a subscription that is being created. */
const KEY_WAIT_MS = 5_000;

/** From an HTTP request to an accepted delivery: what is HTTP about a webhook, and no more. */
export async function receiveWebhook(request: WebhookRequest, parts: WebhookParts): Promise<Receipt> {
  const { ref, headers } = request;
  if (!parts.isAllowedSource(request.address)) throw new HooklineError('SOURCE_NOT_ALLOWED');
  const mediaType = admitRequest(headers, parts.maxBodyBytes);
  const isEarly = parts.keyring.isPending(ref);
  const header = headerOf(headers, 'x-signature-sha256');
  const taken = await takeBody({ ...request, signature: header }, parts);
  const { body, check } = taken;
  let kept = 0;
  const store = async (verified: VerifiedDelivery): Promise<Receipt> => {
    markProven(request.raw.socket);
    // A large one has its memory already.
    const bytes = isLarge(verified) ? 0 : body.length;
    if (bytes > 0) {
      if (!parts.memory.stored.tryEnter(bytes)) await parts.memory.enterStored(bytes);
      kept = bytes;
      taken.leave();
    }
    return parts.delivery.store(verified);
  };
  try {
    const { traceparent } = request;
    const delivery: Delivery = { ref, mediaType, body, receivedAt: Date.now(), traceparent };
    const judging = isEarly ? await checkEarly(delivery, { ...taken, request, header }, parts) : check;
    const { observer } = parts.delivery;
    return await acceptDelivery(delivery, { check: judging, header }, { observer, store });
  } finally {
    taken.leave();
    parts.memory.stored.leave(kept);
  }
}

type Early = TakenBody & { readonly request: WebhookRequest; readonly header: string | undefined };

/**
 * The check of a delivery whose body began while its ref was being created: at once by a key of a subscription that the
 * ref had before, else by the new one's, which may have come while the body did.
 * @throws HooklineError KEY_PENDING, NO_ROOM
 */
async function checkEarly(
  { ref, body }: Delivery,
  early: Early,
  parts: WebhookParts,
): Promise<SignatureCheck> {
  const { keyring } = parts;
  if (!early.check.finish(early.header, body)) {
    await whilePending(early, parts);
    if (keyring.isPending(ref)) throw new HooklineError('KEY_PENDING');
  }
  const check = SignatureCheck.withEach(keyring.signingKeysOf(ref));
  for (let at = 0; at < body.length; at += STEP_BYTES) {
    if (at > 0) await new Promise(setImmediate);
    check.update(body.subarray(at, at + STEP_BYTES));
  }
  return check;
}

/** Nobody has proved anything yet: meanwhile the body is charged, and gives way as one that does not come. */
async function whilePending({ open, body, request, leave }: Early, parts: WebhookParts): Promise<void> {
  const { memory, keyring } = parts;
  const { promise, reject } = Promise.withResolvers<never>();
  const { socket } = request.raw;
  open.isWhole = true;
  open.resume(memory.now());
  if (open.charged + open.large === 0 && !memory.charge(open, body.length))
    throw new HooklineError('NO_ROOM');
  open.end = (error) => {
    if (open.large === 0) leave();
    reject(error);
  };
  memory.open.add(socket, open);
  try {
    await Promise.race([keyring.whilePending(request.ref, KEY_WAIT_MS), promise]);
  } finally {
    memory.open.remove(socket, open);
  }
}

/** A large body is hashed once more in steps, so that others get their turns between. */
const STEP_BYTES = 1024 * 1024;

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** What isn't one is left out: it becomes a header of a record. */
export function traceparentOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headerOf(headers, 'traceparent');
  return readTraceparent(value) ? value : undefined;
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
 * What can be said of a request before its body is read.
 * @returns the body's media type
 * @throws HooklineError MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE
 */
export function admitRequest(headers: IncomingHttpHeaders, maxBodyBytes: number): Delivery['mediaType'] {
  const mediaType = readMediaType(headers['content-type']);
  // A coded body could not be verified: the signature is over the bytes that the sender saw, and nobody says which.
  if (!mediaType || headers['content-encoding'] !== undefined)
    throw new HooklineError('MEDIA_TYPE_UNSUPPORTED');
  if (Number(headers['content-length']) > maxBodyBytes) throw new HooklineError('BODY_TOO_LARGE');
  return mediaType;
}

function readMediaType(contentType: string | undefined): Delivery['mediaType'] | null {
  if (contentType === 'application/json') return 'json';
  switch (contentType?.split(';', 1)[0]?.trim().toLowerCase()) {
    case 'application/json':
      return 'json';
    case 'application/octet-stream':
      return 'octet-stream';
    default:
      return null;
  }
}
