import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { HooklineError } from '../core/errors.ts';

/**
 * The keys of SEALING_KEY_FILE, which seal what Hookline itself stores, by AES-256-GCM. A sealed value is one byte for its
 * format, 12 bytes iv, 16 bytes tag, and the ciphertext.
 */
export type SealingKeys = { readonly current: KeyObject; readonly all: readonly KeyObject[] };

/** How a value is sealed. A value that was moved to another owner does not open, as its authenticated data differ. */
export type SealedFormat = {
  /** The first byte of the sealed value. */
  readonly format: number;
  /** Additional authenticated data: what the value is part of. Two uses of one key must never have the same. */
  readonly aad: Buffer;
};

const HEAD = 1 + 12 + 16;

/** The content that SEALING_KEY_FILE may have, for the error that refuses another. */
export const SEALING_KEY_HELP =
  'one key per line: 64 hexadecimal digits, 32 bytes in base64, or 32 characters';

/**
 * Parses the content of SEALING_KEY_FILE: 32 raw bytes, or a key per line ({@link SEALING_KEY_HELP}). The first key
 * seals, all of them open, so that a key can be rotated.
 * @returns null if a line is not a key, or there is no key.
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

/** The plaintext, or null if no key opens it: another format, a key that was removed, a changed or moved value. */
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

/**
 * The key that seals rows of the spool, and its id in these rows. Both are derived from a sealing key (HKDF-SHA256): a row
 * never opens as another kind of sealed value, and the id reveals nothing about the key. Nonces are random: NIST SP 800-38D
 * allows 2^32 rows under one key.
 */
export type RowKey = { readonly id: string; readonly key: KeyObject };

const derived = (from: KeyObject, info: string, bytes: number) =>
  Buffer.from(hkdfSync('sha256', from, '', info, bytes));

const rowKeyOf = (from: KeyObject): RowKey => ({
  id: derived(from, 'hookline spool row key id', 8).toString('hex'),
  key: createSecretKey(derived(from, 'hookline spool row key', 32)),
});

/** The current key first. */
export const rowKeysOf = ({ current, all }: SealingKeys): readonly RowKey[] => [
  rowKeyOf(current),
  ...all.filter((key) => key !== current).map(rowKeyOf),
];

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Seals by AES-256-GCM. `proof` is the 12-byte iv and the 16-byte tag. */
export function sealRow({ key }: RowKey, aad: Buffer, body: Uint8Array): { proof: Buffer; body: Buffer } {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(aad);
  const sealed = cipher.update(body);
  cipher.final();
  return { proof: Buffer.concat([iv, cipher.getAuthTag()]), body: sealed };
}

/** The body, or null if anything in the row was changed. */
export function openRow({ key }: RowKey, aad: Buffer, proof: Uint8Array, sealed: Uint8Array): Buffer | null {
  if (proof.length !== IV_BYTES + TAG_BYTES) return null;
  const iv = proof.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(proof.subarray(IV_BYTES));
  const body = decipher.update(sealed);
  try {
    decipher.final();
    return body;
  } catch {
    return null;
  }
}

/** Detects damage, not an attack: who can write a row can write its checksum. */
export const checksumOf = (aad: Buffer, body: Uint8Array): Buffer =>
  createHash('sha256').update(aad).update(body).digest();

export function isChecksum(proof: Uint8Array, aad: Buffer, body: Uint8Array): boolean {
  return proof.length === 32 && timingSafeEqual(proof, checksumOf(aad, body));
}

/**
 * The keys of SEALING_KEY_FILE; undefined if it is unset.
 * @throws HooklineError SEALING_KEY_INVALID
 */
export function readSealingKeys(path: string): SealingKeys;
export function readSealingKeys(path: string | undefined): SealingKeys | undefined;
export function readSealingKeys(path: string | undefined): SealingKeys | undefined {
  if (path === undefined) return undefined;
  const keys = parseSealingKeys(readFileSync(path));
  if (!keys) throw new HooklineError('SEALING_KEY_INVALID', `${path}: give ${SEALING_KEY_HELP}`);
  return keys;
}
