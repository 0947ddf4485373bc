import { createDecipheriv, type DecipherGCM } from 'node:crypto';
import { releaseBytes } from '../core/release-bytes.ts';
import type { EncryptionKey } from './keys.ts';
import type { SealedLayout } from './layout.ts';

const TAG_LENGTH = 16;

/** The three pieces of an AES-256-GCM message. */
export type SealedPieces = { readonly iv: Buffer; readonly tag: Buffer; readonly ciphertext: Buffer };

/** Cuts sealed bytes into their pieces, or null where they are too short for an iv and a tag. */
export function cutSealed(layout: SealedLayout, sealed: Buffer): SealedPieces | null {
  const { ivLength, tagFirst } = layout;
  if (sealed.length < ivLength + TAG_LENGTH) return null;
  const rest = sealed.subarray(ivLength);
  const split = tagFirst ? TAG_LENGTH : rest.length - TAG_LENGTH;
  const [first, second] = [rest.subarray(0, split), rest.subarray(split)];
  const iv = sealed.subarray(0, ivLength);
  return tagFirst ? { iv, tag: first, ciphertext: second } : { iv, tag: second, ciphertext: first };
}

/** Sealed bytes written as text (`base64`, `hex`), or as they are. What isn't such text fails at the tag. */
export function decodeSealed(form: 'bytes' | 'base64' | 'hex', sealed: Buffer): Buffer {
  return form === 'bytes' ? sealed : Buffer.from(sealed.toString('latin1').trim(), form);
}

/** The pieces from an envelope's fields, or null where one of them is missing or no text. */
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

/** Where a large plaintext goes; it is the cipher's own memory else. */
type PlainMemory = { take(bytes: number): Buffer };

/** As much of a large ciphertext as is opened at once: its plaintext lies in the processor's cache when it is moved. */
const PIECE_BYTES = 256 * 1024;

/**
 * Opens AES-256-GCM with the first key that fits, or null. No plaintext leaves before its tag has verified
 * (`final` throws), and a tag of other than 16 bytes is none: Node would take a shorter one.
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
    const decipher = createDecipheriv('aes-256-gcm', key.key, iv, { authTagLength: TAG_LENGTH });
    decipher.setAuthTag(tag);
    const plain = into ? openInto(into, decipher, ciphertext) : decipher.update(ciphertext);
    try {
      decipher.final();
      return { plain, key };
    } catch {
      // Another key of the ref may fit: while a key is being rotated both are live.
    }
  }
  return null;
}

function openInto(plain: Buffer, decipher: DecipherGCM, ciphertext: Buffer): Buffer {
  for (let at = 0; at < ciphertext.length; at += PIECE_BYTES) {
    const piece = decipher.update(ciphertext.subarray(at, at + PIECE_BYTES));
    piece.copy(plain, at);
    releaseBytes(piece);
  }
  return plain;
}
