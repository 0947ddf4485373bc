import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/**
 * Sealing of what Hookline itself stores: the keys of a subscription in the `subscriptions` topic, under the key of
 * SEALING_KEY_FILE. Form: version 1, 12-byte iv, 16-byte tag, ciphertext; the ref is authenticated with it, so that a
 * record copied to another ref doesn't open.
 */
export type SealingKeys = { readonly current: KeyObject; readonly all: readonly KeyObject[] };

const VERSION = 1;
const HEAD = 1 + 12 + 16;

/** What SEALING_KEY_FILE may hold, for the message that says it doesn't. */
export const SEALING_KEY_HELP =
  'one key per line: 64 hexadecimal digits, 32 bytes in base64, or 32 characters';

/**
 * Reads the content of SEALING_KEY_FILE: 32 raw bytes, or a key per line ({@link SEALING_KEY_HELP}); the first one
 * seals, all of them open, so that a key can be rotated.
 * @returns null where a line isn't a key, or none is there.
 */
export function parseSealingKeys(content: Buffer): SealingKeys | null {
  const lines = content.toString('latin1').split('\n');
  const texts = lines.map((line) => line.trim()).filter((line) => line !== '');
  const keys = content.length === 32 ? [createSecretKey(content)] : texts.map(parseKey);
  const [current] = keys;
  if (!current || keys.includes(null)) return null;
  return { current, all: keys.filter((key) => key !== null) };
}

function parseKey(line: string): KeyObject | null {
  const encoding = /^[0-9a-fA-F]{64}$/.test(line) ? 'hex' : line.length === 32 ? 'latin1' : 'base64';
  const bytes = Buffer.from(line, encoding);
  return bytes.length === 32 ? createSecretKey(bytes) : null;
}

export function seal(keys: SealingKeys, ref: string, plain: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', keys.current, iv, { authTagLength: 16 });
  cipher.setAAD(Buffer.from(ref));
  const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), ciphertext]);
}

/** The sealed text, or null where no key opens it (a rotated key that is gone, or a changed record). */
export function unseal(keys: SealingKeys, ref: string, sealed: Buffer): string | null {
  if (sealed.length < HEAD || sealed[0] !== VERSION) return null;
  for (const key of keys.all) {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 13), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(ref));
    decipher.setAuthTag(sealed.subarray(13, HEAD));
    const plain = decipher.update(sealed.subarray(HEAD));
    try {
      return Buffer.concat([plain, decipher.final()]).toString('utf8');
    } catch {
      // An older key may fit.
    }
  }
  return null;
}
