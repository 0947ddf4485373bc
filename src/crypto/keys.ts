import { createSecretKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto';

/** Key for X-Signature-SHA256. `index` is its position among the live keys of the ref; 0 is the current one. */
export type SigningKey = {
  readonly index: number;
  readonly subscriptionId: string;
  readonly key: KeyObject;
};

/** Key for AES-256-GCM, with its position among the live keys of the ref. */
export type EncryptionKey = { readonly index: number; readonly key: KeyObject };

/** Characters of a subscription id and of a signing secret: together the 72 of the interface's section 6.3. */
export const SIGNING_PART_LENGTH = 36;
/** Characters, used as bytes, of an encryption key (section 6.2). */
export const ENCRYPTION_KEY_LENGTH = 32;

/** The HMAC key is the subscription id followed by the secret, as characters. */
export function signingKey(subscriptionId: string, secret: string, index: number): SigningKey {
  return { index, subscriptionId, key: createSecretKey(subscriptionId + secret, 'latin1') };
}

export function encryptionKey(characters: string, index: number): EncryptionKey {
  return { index, key: createSecretKey(characters, 'latin1') };
}

/** A key that signs no delivery: checking a signature with it takes as long for an unknown ref as for a known one. */
export function decoyKey(): SigningKey {
  return { index: -1, subscriptionId: '', key: createSecretKey(randomBytes(2 * SIGNING_PART_LENGTH)) };
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
export const certificateEnd = (pem: Buffer): Date => new X509Certificate(pem).validToDate;
