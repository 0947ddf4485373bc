import { createCipheriv, randomBytes } from 'node:crypto';

/** A body as the provider seals it by default (interface, section 6.2): iv, ciphertext, tag. */
export function sealBody(encryptionKey: string, message: string | Buffer): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(encryptionKey, 'latin1'), iv);
  return Buffer.concat([iv, cipher.update(message), cipher.final(), cipher.getAuthTag()]);
}
