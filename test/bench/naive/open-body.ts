import { createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from './config.ts';

/** Whether the signature is that of the body. */
export function isSigned({ signingKey }: Secret, signature: unknown, body: Buffer): boolean {
  if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) return false;
  const expected = createHmac('sha256', signingKey).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}

/** Opens AES-256-GCM: twelve bytes of iv, the ciphertext, sixteen bytes of tag. */
export function unseal({ encryptionKey }: Secret, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', encryptionKey, sealed.subarray(0, 12), {
    authTagLength: 16,
  });
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
}
