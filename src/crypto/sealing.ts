import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/**
 * Sealing of what Hookline itself stores under the keys of SEALING_KEY_FILE, by AES-256-GCM. A sealed value is: one byte
 * for its format, 12 bytes iv, 16 bytes tag, ciphertext.
 */
export type SealingKeys = { readonly current: KeyObject; readonly all: readonly KeyObject[] };

/** How a value is sealed. A value that is moved to where other data are authenticated does not open. */
export type SealedFormat = {
  /** The first byte of the sealed value. */
  readonly format: number;
  /** Additional authenticated data: what the value belongs to. Two uses of one key must never have the same. */
  readonly aad: Buffer;
};

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

/** Seals under the current key. */
export function seal(keys: SealingKeys, { format, aad }: SealedFormat, plain: Buffer): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', keys.current, iv, { authTagLength: 16 });
  cipher.setAAD(aad);
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(format), iv, cipher.getAuthTag(), ciphertext]);
}

/** The plaintext, or null where no key opens it: another format, a key that is gone, a changed or moved value. */
export function unseal(keys: SealingKeys, { format, aad }: SealedFormat, sealed: Buffer): Buffer | null {
  if (sealed.length < HEAD || sealed[0] !== format) return null;
  for (const key of keys.all) {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 13), { authTagLength: 16 });
    decipher.setAAD(aad);
    decipher.setAuthTag(sealed.subarray(13, HEAD));
    const plain = decipher.update(sealed.subarray(HEAD));
    try {
      return Buffer.concat([plain, decipher.final()]);
    } catch {
      // An older key may fit.
    }
  }
  return null;
}
