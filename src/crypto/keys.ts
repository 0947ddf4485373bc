import {
  createHmac,
  createSecretKey,
  type Hmac,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto';

/**
 * Of so many earlier subscriptions of a ref the keys verify. Each costs every refused webhook a hash of its body, of other
 * refs too: all take the same time.
 */
export const MAX_EARLIER_LIVE = 8;

/** Key for X-Signature-SHA256. `index` is its position among the live keys of the ref; 0 is the current one. */
export type SigningKey = {
  readonly index: number;
  readonly subscriptionId: string;
  readonly key: HmacKey;
};

/** Key for AES-256-GCM, with its position among the live keys of the ref. */
export type EncryptionKey = { readonly index: number; readonly key: KeyObject };

/** Characters of a subscription id and of a signing secret: together the 72 of the interface's section 6.3. */
const SIGNING_PART_LENGTH = 36;
/** Characters, used as bytes, of an encryption key (section 6.2). */
const ENCRYPTION_KEY_LENGTH = 32;

/** The HMAC key is the subscription id followed by the secret, as characters. */
export function signingKey(subscriptionId: string, secret: string, index: number): SigningKey {
  return { index, subscriptionId, key: new HmacKey(Buffer.from(subscriptionId + secret, 'latin1')) };
}

export function encryptionKey(characters: string, index: number): EncryptionKey {
  return { index, key: createSecretKey(characters, 'latin1') };
}

/** A key that signs no delivery: checking a signature with it takes as long for an unknown ref as for a known one. */
export function decoyKey(): SigningKey {
  return { index: -1, subscriptionId: '', key: new HmacKey(randomBytes(2 * SIGNING_PART_LENGTH)) };
}

/** Bytes of a block of SHA-256. */
const BLOCK = 64;
/** A longer body is not copied: to hash it costs more than an HMAC object does. */
const MAX_COPIED = 16 * 1024;
const innerInput = Buffer.alloc(BLOCK + MAX_COPIED);
const outerInput = Buffer.alloc(BLOCK + 32);

/**
 * A key for HMAC-SHA256 (RFC 2104). A body that is there whole costs two one-shot digests behind the key's prepared pads:
 * less than half of what an HMAC object costs. The key stays out of logs: its fields are private.
 */
export class HmacKey {
  readonly object: KeyObject;
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  constructor(bytes: Buffer) {
    this.object = createSecretKey(bytes);
    const block = Buffer.alloc(BLOCK);
    (bytes.length > BLOCK ? hash('sha256', bytes, 'buffer') : bytes).copy(block);
    this.#inner = Buffer.from(block.map((byte) => byte ^ 0x36));
    this.#outer = Buffer.from(block.map((byte) => byte ^ 0x5c));
  }

  /** For a body that arrives in chunks. */
  begin(): Hmac {
    return createHmac('sha256', this.object);
  }

  /** The HMAC of a whole body, as 64 lowercase hexadecimal digits. */
  digest(body: Buffer): string {
    if (body.length > MAX_COPIED) return this.begin().update(body).digest('hex');
    innerInput.set(this.#inner);
    innerInput.set(body, BLOCK);
    outerInput.set(this.#outer);
    outerInput.write(hash('sha256', innerInput.subarray(0, BLOCK + body.length), 'binary'), BLOCK, 'latin1');
    return hash('sha256', outerInput, 'hex');
  }
}

/** Why a text cannot be such a key, or null. The answer never quotes the text. */
export function signingPartFault(text: string): string | null {
  return lengthFault(text, SIGNING_PART_LENGTH);
}

export function encryptionKeyFault(text: string): string | null {
  return lengthFault(text, ENCRYPTION_KEY_LENGTH);
}

function lengthFault(text: string, length: number): string | null {
  if (text.length !== length) return `has ${text.length} characters, must have ${length}`;
  return /^[\x21-\x7e]+$/.test(text) ? null : 'has characters other than printable ASCII';
}

/** 32 characters from 64 letters, digits, `-` and `_`: 192 bits. */
export function newEncryptionKey(): string {
  return randomBytes(24).toString('base64url');
}

/** When the first certificate of a PEM file expires. Throws if there is no certificate. */
export function validityOf(pem: Buffer): { readonly notBefore: Date; readonly notAfter: Date } {
  const { validFromDate: notBefore, validToDate: notAfter } = new X509Certificate(pem);
  return { notBefore, notAfter };
}

/**
 * A key of 32 bytes for one purpose, from a secret of any length (HKDF-SHA256): keys for other purposes reveal nothing about it.
 * @param purpose such as `hookline console session`
 */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

/** A random key of 32 bytes. */
export const randomKey = (): Buffer => randomBytes(32);
