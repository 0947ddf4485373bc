/**
 * How an encrypted message is laid out. The interface names AES-256-GCM but no layout, so the sandbox offers all of them:
 *
 *   iv12.ciphertext.tag16          the default: the whole body, as bytes
 *   iv12.tag16.ciphertext          tag in front; both also with iv16
 *   iv12.ciphertext.tag16:base64   the same as text; also :hex
 *   json                           {"iv","tag","data"} in base64; also json:hex, json.iv16, json.iv16:hex
 *   payload/…                      any of them inside the message's `payload` field (there, bytes are base64)
 *
 * `payload/…` parses the message again, which blocks the process for about a second with 50 MB.
 */
export type Layout = {
  readonly name: string;
  readonly ivBytes: 12 | 16;
  readonly shape: 'ciphertext-tag' | 'tag-ciphertext' | 'envelope';
  /** null: raw bytes. */
  readonly text: 'base64' | 'hex' | null;
  /** What is encrypted. */
  readonly covers: 'body' | 'payload';
};

/** The field names of the JSON envelope. */
export type EnvelopeNames = { readonly iv: string; readonly tag: string; readonly data: string };

export const DEFAULT_LAYOUT = 'iv12.ciphertext.tag16';

export const LAYOUT_SYNTAX =
  '[payload/] then iv12.ciphertext.tag16, iv12.tag16.ciphertext (or iv16.…), json or json.iv16, then [:base64 or :hex]';

const BYTES = /^(payload\/)?iv(12|16)\.(ciphertext\.tag16|tag16\.ciphertext)(?::(base64|hex))?$/;
const ENVELOPE = /^(payload\/)?json(?:\.iv(12|16))?(?::(base64|hex))?$/;

/** The layout of a name, or null if there is no such layout. */
export function readLayout(name: string): Layout | null {
  const bytes = BYTES.exec(name);
  const envelope = ENVELOPE.exec(name);
  const [, inPayload, iv, order, text] = bytes ?? [];
  if (bytes) {
    return {
      name,
      ivBytes: iv === '16' ? 16 : 12,
      shape: order?.startsWith('tag') ? 'tag-ciphertext' : 'ciphertext-tag',
      text: textOf(text ?? (inPayload ? 'base64' : undefined)),
      covers: inPayload ? 'payload' : 'body',
    };
  }
  if (!envelope) return null;
  return {
    name,
    ivBytes: envelope[2] === '16' ? 16 : 12,
    shape: 'envelope',
    text: textOf(envelope[3] ?? 'base64'),
    covers: envelope[1] ? 'payload' : 'body',
  };
}

const textOf = (text: string | undefined) => (text === 'base64' || text === 'hex' ? text : null);

/** The Content-Type of a body: JSON, or a binary stream (interface, section 6.2). */
export const contentTypeOf = (layout: Layout | null): string =>
  layout === null || layout.covers === 'payload' || layout.shape === 'envelope'
    ? 'application/json'
    : 'application/octet-stream';
