import { createHash, hash, randomUUID } from 'node:crypto';

/** A random UUID. */
export const newId = (): string => randomUUID();

/**
 * A name-based UUID (RFC 9562 version 8) over SHA-256 of the subscription id and the decrypted message: every
 * redelivery and replay of a message has the same id.
 */
export function eventIdOf(subscriptionId: string, message: Buffer): string {
  const digest =
    message.length < 64 * 1024
      ? hash('sha256', joined(subscriptionId, message), 'hex')
      : createHash('sha256').update(subscriptionId, 'latin1').update(message).digest('hex');
  const variant = 0x8 | (Number.parseInt(digest.charAt(16), 16) & 0x3);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-${variant.toString(16)}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** SHA-256 of a body or a message: 64 lower-case hexadecimal digits. */
export const sha256Of = (bytes: Buffer): string => hash('sha256', bytes, 'hex');

/** The same of bytes that come piece by piece: `update`, then `digest('hex')`. */
export const startSha256 = () => createHash('sha256');

/** One buffer with both: a one-shot hash is cheaper than a hash object with two updates. */
function joined(subscriptionId: string, message: Buffer): Buffer {
  const all = Buffer.allocUnsafe(subscriptionId.length + message.length);
  all.write(subscriptionId, 'latin1');
  message.copy(all, subscriptionId.length);
  return all;
}
