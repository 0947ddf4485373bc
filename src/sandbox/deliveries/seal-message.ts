import { createCipheriv, randomBytes } from 'node:crypto';
import { SandboxError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import type { EnvelopeNames, Layout } from './layout.ts';
import { workInPieces } from './work-in-pieces.ts';

type Sealed = { readonly iv: Buffer; readonly ciphertext: Buffer; readonly tag: Buffer };

/** AES-256-GCM with the key's 32 characters as its bytes and a fresh IV. Returns the body in the layout. */
export async function sealMessage(
  message: Buffer,
  sealing: { key: string; layout: Layout; names: EnvelopeNames },
): Promise<Buffer> {
  const { key, layout, names } = sealing;
  if (layout.place === 'body') return arrange(await encrypt(message, key, layout.ivBytes), layout, names);
  const { payload, before, after } = splitAtPayload(message, layout);
  const sealed = arrange(await encrypt(payload, key, layout.ivBytes), layout, names);
  const quote = layout.shape === 'envelope' ? '' : '"';
  return Buffer.concat([Buffer.from(before + quote), sealed, Buffer.from(quote + after)]);
}

/** The message's payload, and its JSON around it. Throws `invalid_request` where it has none. */
export function splitAtPayload(message: Buffer, layout: Layout) {
  const outer = parseJson(message);
  if (!isObject(outer) || outer.payload === undefined) {
    throw new SandboxError('invalid_request', `The layout ${layout.name} needs a message with a payload.`);
  }
  // Random, so that no other field can hold it.
  const mark = randomBytes(16).toString('hex');
  const [before = '', after = ''] = JSON.stringify({ ...outer, payload: mark }).split(`"${mark}"`);
  return { payload: Buffer.from(JSON.stringify(outer.payload)), before, after };
}

async function encrypt(plain: Buffer, key: string, ivBytes: number): Promise<Sealed> {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'latin1'), iv, { authTagLength: 16 });
  const pieces: Buffer[] = [];
  await workInPieces(plain, (piece) => void pieces.push(cipher.update(piece)));
  pieces.push(cipher.final());
  return { iv, ciphertext: Buffer.concat(pieces), tag: cipher.getAuthTag() };
}

function arrange({ iv, ciphertext, tag }: Sealed, layout: Layout, names: EnvelopeNames): Buffer {
  if (layout.shape === 'envelope') {
    const text = layout.text ?? 'base64';
    // Put together by hand: these texts need no escaping, and JSON.stringify would go through all of them.
    const field = (name: string, bytes: Buffer) => `${JSON.stringify(name)}:"${bytes.toString(text)}"`;
    const fields = [field(names.iv, iv), field(names.tag, tag), field(names.data, ciphertext)];
    return Buffer.from(`{${fields.join(',')}}`, 'utf8');
  }
  const order = layout.shape === 'ciphertext-tag' ? [iv, ciphertext, tag] : [iv, tag, ciphertext];
  const bytes = Buffer.concat(order);
  return layout.text === null ? bytes : Buffer.from(bytes.toString(layout.text), 'latin1');
}
