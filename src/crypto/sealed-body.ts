import { createDecipheriv, type DecipherGCM } from 'node:crypto';
import { releaseBytes } from '../core/release-bytes.ts';
import type { EncryptionKey } from './keys.ts';
import type { SealedLayout } from './layout.ts';

const TAG_LENGTH = 16;

/** The three parts of an AES-256-GCM message. */
export type SealedPieces = { readonly iv: Buffer; readonly tag: Buffer; readonly ciphertext: Buffer };

/** Splits sealed bytes; null if they are too short for an iv and a tag. */
export function splitSealed(layout: SealedLayout, sealed: Buffer): SealedPieces | null {
  const { ivLength, tagFirst } = layout;
  if (sealed.length < ivLength + TAG_LENGTH) return null;
  const split = tagFirst ? ivLength + TAG_LENGTH : sealed.length - TAG_LENGTH;
  const iv = sealed.subarray(0, ivLength);
  const first = sealed.subarray(ivLength, split);
  const second = sealed.subarray(split);
  return tagFirst ? { iv, tag: first, ciphertext: second } : { iv, tag: second, ciphertext: first };
}

/** Decodes sealed bytes that are base64 or hex text. The tag of a malformed text does not verify. */
export function decodeSealed(form: 'bytes' | 'base64' | 'hex', sealed: Buffer): Buffer {
  return form === 'bytes' ? sealed : Buffer.from(sealed.toString('latin1').trim(), form);
}

/** Decodes the fields of an envelope; null if one of them is missing or is not a string. */
export function readEnvelope(
  layout: SealedLayout,
  envelope: Readonly<Record<string, unknown>>,
): SealedPieces | null {
  const [iv, tag, ciphertext] = [layout.names.iv, layout.names.tag, layout.names.data].map((name) => {
    const text = Object.hasOwn(envelope, name) ? envelope[name] : undefined;
    return typeof text === 'string' ? Buffer.from(text, layout.encoding) : undefined;
  });
  return iv && tag && ciphertext ? { iv, tag, ciphertext } : null;
}

/** Whether an object looks sealed: it has all three of the envelope's fields. */
export function isEnvelope(layout: SealedLayout, object: Readonly<Record<string, unknown>>): boolean {
  return [layout.names.iv, layout.names.tag, layout.names.data].every((name) => Object.hasOwn(object, name));
}

/** Memory for a large plaintext, instead of new memory of the cipher. */
type PlainMemory = { take(bytes: number): Buffer };

/** Bytes of a large ciphertext that are decrypted at once: the plaintext is in the processor's cache when it is copied. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Opens AES-256-GCM with the first key that fits; null if none does. Returns no plaintext before its tag has verified
 * (`final` throws). Refuses a tag that is not 16 bytes long: Node accepts a shorter one.
 */
export function openSealed(
  pieces: SealedPieces,
  keys: readonly EncryptionKey[],
  memory?: PlainMemory,
): { plain: Buffer; key: EncryptionKey } | null {
  const { iv, tag, ciphertext } = pieces;
  if (tag.length !== TAG_LENGTH || (iv.length !== 12 && iv.length !== 16)) return null;
  const into = keys.length > 0 ? memory?.take(ciphertext.length).subarray(0, ciphertext.length) : undefined;
  for (const key of keys) {
    // Without the option authTagLength, which costs a quarter of all this: the tag's length was checked above.
    const decipher = createDecipheriv('aes-256-gcm', key.key, iv);
    decipher.setAuthTag(tag);
    const plain = into ? openInto(into, decipher, ciphertext) : decipher.update(ciphertext);
    try {
      decipher.final();
      return { plain, key };
    } catch {
      // Another key of the ref may fit: during a rotation both are live.
    }
  }
  return null;
}

function openInto(plain: Buffer, decipher: DecipherGCM, ciphertext: Buffer): Buffer {
  for (let at = 0; at < ciphertext.length; at += CHUNK_BYTES) {
    const chunk = decipher.update(ciphertext.subarray(at, at + CHUNK_BYTES));
    chunk.copy(plain, at);
    releaseBytes(chunk);
  }
  return plain;
}
