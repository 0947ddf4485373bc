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
import type { SealingKeys } from './sealing.ts';

/**
 * The key of a sealing key's rows, and the name that rows have for it. Both are derived (HKDF-SHA256): a row never opens as
 * anything else that the sealing key seals, and its name tells nothing about it. Nonces are random: NIST SP 800-38D allows
 * 2^32 rows under one key.
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

/** The body, or null where anything of the row was changed. */
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

/** Detects damage, not intent: whoever can write a row can write its checksum. */
export const checksumOf = (aad: Buffer, body: Uint8Array): Buffer =>
  createHash('sha256').update(aad).update(body).digest();

export function isChecksum(proof: Uint8Array, aad: Buffer, body: Uint8Array): boolean {
  return proof.length === 32 && timingSafeEqual(proof, checksumOf(aad, body));
}
