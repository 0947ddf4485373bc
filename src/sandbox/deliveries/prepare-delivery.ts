import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { SandboxError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import type { Subscription } from '../core/subscription-store.ts';
import { contentTypeOf, type EnvelopeNames, type Layout } from './layout.ts';

export type Preparation = {
  readonly message: Buffer;
  readonly subscription: Subscription;
  readonly sealing: { readonly layout: Layout; readonly names: EnvelopeNames } | null;
  /** Encrypts with this key instead of the subscription's: the receiver does not have it. */
  readonly wrongKey?: string;
  /** Alters the signature, or the body after it was signed. */
  readonly tamper?: 'signature' | 'body';
  /** Replaces or adds headers, by lower-case names; null removes one, a list sends it several times. */
  readonly headers?: Readonly<Record<string, string | string[] | null>>;
};

export type PreparedDelivery = {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[]>>;
};

/** What every attempt of a delivery sends: encrypts if asked to, signs, and sets the headers. */
export async function prepareDelivery(order: Preparation): Promise<PreparedDelivery> {
  const { message, subscription, sealing } = order;
  const body = sealing
    ? await sealMessage(message, { ...sealing, key: order.wrongKey ?? keyOf(subscription) })
    : message;
  const signature = await signBody(body, subscription);
  const standard = {
    'content-type': contentTypeOf(sealing?.layout ?? null),
    'x-signature-sha256': order.tamper === 'signature' ? changeDigit(signature) : signature,
    'user-agent': 'payment-service-sandbox',
  };
  const headers: [string, string | string[] | null][] = Object.entries({ ...standard, ...order.headers });
  return {
    body: order.tamper === 'body' ? flipBit(body) : body,
    headers: Object.fromEntries(
      headers.filter((entry): entry is [string, string | string[]] => entry[1] !== null),
    ),
  };
}

/** The encryption key of a subscription. Throws `conflict` where it has none. */
export function keyOf(subscription: Subscription): string {
  if (subscription.encryptionKey !== null) return subscription.encryptionKey;
  throw new SandboxError(
    'conflict',
    `The subscription ${subscription.id} has no encryption key, so nothing can be encrypted for it.`,
  );
}

const changeDigit = (hex: string) => (hex[0] === '0' ? '1' : '0') + hex.slice(1);

function flipBit(body: Buffer): Buffer {
  const altered = Buffer.from(body);
  const middle = Math.floor(altered.length / 2);
  if (altered.length > 0) altered[middle] = altered[middle]! ^ 1;
  return altered;
}

/**
 * The value of X-Signature-SHA256 (interface, section 6.3): HMAC-SHA256 over the body as sent, as 64 lowercase
 * hexadecimal digits. The key is 72 characters: the subscription's id, then its signing secret.
 */
export async function signBody(
  body: Buffer,
  subscription: { id: string; signingSecret: string },
): Promise<string> {
  const hmac = createHmac('sha256', `${subscription.id}${subscription.signingSecret}`);
  await forEachChunk(body, (chunk) => hmac.update(chunk));
  return hmac.digest('hex');
}

type Sealed = { readonly iv: Buffer; readonly ciphertext: Buffer; readonly tag: Buffer };

/** Encrypts with AES-256-GCM: the key's 32 characters are its bytes, the IV is fresh. Returns the body in the layout. */
export async function sealMessage(
  message: Buffer,
  sealing: { key: string; layout: Layout; names: EnvelopeNames },
): Promise<Buffer> {
  const { key, layout, names } = sealing;
  if (layout.covers === 'body') return arrange(await encrypt(message, key, layout.ivBytes), layout, names);
  const { payload, before, after } = splitAtPayload(message, layout);
  const sealed = arrange(await encrypt(payload, key, layout.ivBytes), layout, names);
  const quote = layout.shape === 'envelope' ? '' : '"';
  return Buffer.concat([Buffer.from(before + quote), sealed, Buffer.from(quote + after)]);
}

/** The message's payload, and the JSON before and after it. Throws `invalid_request` where there is no payload. */
export function splitAtPayload(message: Buffer, layout: Layout) {
  const outer = parseJson(message);
  if (!isObject(outer) || outer.payload === undefined) {
    throw new SandboxError('invalid_request', `The layout ${layout.name} needs a message with a payload.`);
  }
  // Random, so that it cannot occur in another field.
  const mark = randomBytes(16).toString('hex');
  const [before = '', after = ''] = JSON.stringify({ ...outer, payload: mark }).split(`"${mark}"`);
  return { payload: Buffer.from(JSON.stringify(outer.payload)), before, after };
}

async function encrypt(plain: Buffer, key: string, ivBytes: number): Promise<Sealed> {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'latin1'), iv, { authTagLength: 16 });
  const chunks: Buffer[] = [];
  await forEachChunk(plain, (chunk) => void chunks.push(cipher.update(chunk)));
  chunks.push(cipher.final());
  return { iv, ciphertext: Buffer.concat(chunks), tag: cipher.getAuthTag() };
}

function arrange({ iv, ciphertext, tag }: Sealed, layout: Layout, names: EnvelopeNames): Buffer {
  if (layout.shape === 'envelope') {
    const text = layout.text ?? 'base64';
    // Base64 and hex need no escaping; JSON.stringify would scan all of it.
    const field = (name: string, bytes: Buffer) => `${JSON.stringify(name)}:"${bytes.toString(text)}"`;
    const fields = [field(names.iv, iv), field(names.tag, tag), field(names.data, ciphertext)];
    return Buffer.from(`{${fields.join(',')}}`, 'utf8');
  }
  const order = layout.shape === 'ciphertext-tag' ? [iv, ciphertext, tag] : [iv, tag, ciphertext];
  const bytes = Buffer.concat(order);
  return layout.text === null ? bytes : Buffer.from(bytes.toString(layout.text), 'latin1');
}

/** 1 MiB is hashed or encrypted in about a millisecond; between chunks the event loop does other work. */
const CHUNK_BYTES = 1 << 20;

/** Calls `work` with one chunk of `bytes` after the other, so that 50 MB do not block the test API. */
async function forEachChunk(bytes: Buffer, work: (chunk: Buffer) => void): Promise<void> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    if (start > 0) await setImmediate();
    work(bytes.subarray(start, start + CHUNK_BYTES));
  }
}
