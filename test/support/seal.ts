import { createCipheriv, randomBytes } from 'node:crypto';

/** A body as the provider seals it by default (interface, section 6.2): iv, ciphertext, tag. */
export function sealBody(encryptionKey: string, message: string | Buffer): Buffer {
  // One in 128 would begin like JSON, which is a case of its own.
  const iv = Buffer.concat([Buffer.of(0x80), randomBytes(11)]);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(encryptionKey, 'latin1'), iv);
  return Buffer.concat([iv, cipher.update(message), cipher.final(), cipher.getAuthTag()]);
}
