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
      ? hash('sha256', joined(subscriptionId, message), 'buffer')
      : createHash('sha256').update(subscriptionId, 'latin1').update(message).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** One buffer with both: a one-shot hash is cheaper than a hash object with two updates. */
function joined(subscriptionId: string, message: Buffer): Buffer {
  const all = Buffer.allocUnsafe(subscriptionId.length + message.length);
  all.write(subscriptionId, 'latin1');
  message.copy(all, subscriptionId.length);
  return all;
}
