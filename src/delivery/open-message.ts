import { isUtf8 } from 'node:buffer';
import type { OpenedMessage, VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import { memberSpan } from '../core/json-scanner.ts';
import type { EncryptionKey } from '../crypto/keys.ts';
import type { SealedLayout } from '../crypto/layout.ts';
import {
  decodeSealed,
  isEnvelope,
  openSealed,
  readEnvelope,
  type SealedPieces,
  splitSealed,
} from '../crypto/sealed-body.ts';
import type { DeliveryPorts } from './ports.ts';

type Object = Readonly<Record<string, unknown>>;
type Deps = Pick<DeliveryPorts, 'layout' | 'encryptionKeysOf' | 'observer' | 'memory'>;

/**
 * Opens a delivery and reads its message. The signed bytes alone decide whether they are sealed: never the media type,
 * which is not signed. A body that is a JSON object is plain; in a layout that seals the whole body all other bytes are
 * sealed. `read` is what finds out whether bytes are JSON, so that a plain body is scanned once.
 * @param read must throw UNPARSABLE where the message is not JSON; it may be called twice
 * @throws HooklineError UNDECRYPTABLE, and what `read` throws
 */
export function openMessage<T>(
  delivery: VerifiedDelivery,
  parts: Deps,
  read: (opened: OpenedMessage) => T,
): T {
  const { form, covers } = parts.layout;
  const readAs = (message: Buffer): T => read({ ...delivery, message, opened: true });
  if (form === 'envelope' || covers === 'payload') return readAs(openMember(delivery, parts));
  const first = firstByte(delivery.body);
  if (first !== OPEN_OBJECT) return readAs(openWhole(delivery, form, first === OPEN_ARRAY, parts));
  try {
    return readAs(delivery.body);
  } catch (error) {
    if (!hasCode(error, 'UNPARSABLE')) throw error;
    // One in 256 sealed bodies begins with a brace.
    return readAs(openWhole(delivery, form, true, parts));
  }
}

/** @param looksPlain it begins like JSON: where no key opens it, it is taken for malformed JSON */
function openWhole(
  { body, ref }: VerifiedDelivery,
  form: 'bytes' | 'base64' | 'hex',
  looksPlain: boolean,
  parts: Deps,
): Buffer {
  const keys = parts.encryptionKeysOf(ref);
  if (keys.length === 0)
    throw new HooklineError(
      'UNPARSABLE',
      looksPlain ? undefined : 'and its subscription has no encryption key',
    );
  const plain = openPieces(splitSealed(parts.layout, decodeSealed(form, body)), { ref, keys }, parts);
  if (!plain) throw new HooklineError(looksPlain ? 'UNPARSABLE' : 'UNDECRYPTABLE');
  return plain;
}

/** The message where a member of a JSON object is sealed, or all of it in an envelope. */
function openMember({ body, ref }: VerifiedDelivery, parts: Deps): Buffer {
  const { layout } = parts;
  const message = asObject(body);
  if (!message) return body;
  const open = (pieces: SealedPieces | null): Buffer => {
    const plain = openPieces(pieces, { ref, keys: parts.encryptionKeysOf(ref) }, parts);
    if (!plain) throw new HooklineError('UNDECRYPTABLE');
    return plain;
  };
  if (layout.covers === 'body')
    return isEnvelope(layout, message) ? open(readEnvelope(layout, message)) : body;
  const pieces = sealedPayload(layout, message.payload);
  return pieces === 'plain' ? body : replacePayload(body, open(pieces));
}

function openPieces(
  pieces: SealedPieces | null,
  { ref, keys }: { readonly ref: string; readonly keys: readonly EncryptionKey[] },
  { observer, memory }: Deps,
): Buffer | null {
  const opened = pieces && openSealed(pieces, keys, memory);
  if (!opened) return null;
  observer.keyMatched(ref, 'encryption', opened.key.index);
  return opened.plain;
}

/** The pieces of a sealed `payload`; 'plain' where it is no sealed one, null where it only resembles one. */
function sealedPayload(layout: SealedLayout, payload: unknown): SealedPieces | null | 'plain' {
  if (layout.form === 'envelope') {
    const isSealed = isObject(payload) && isEnvelope(layout, payload);
    return isSealed ? readEnvelope(layout, payload) : 'plain';
  }
  if (typeof payload !== 'string') return 'plain';
  return splitSealed(layout, decodeSealed(layout.form, Buffer.from(payload, 'latin1')));
}

/** The message with its opened payload in the sealed one's place, all else kept to the byte. */
function replacePayload(body: Buffer, payload: Buffer): Buffer {
  // As text it would be other bytes than those that were signed.
  if (!isUtf8(body)) throw new HooklineError('UNPARSABLE');
  const span = memberSpan(body, 'payload');
  if (!span) throw new HooklineError('UNDECRYPTABLE');
  return Buffer.concat([body.subarray(0, span.start), payload, body.subarray(span.end)]);
}

const isObject = (value: unknown): value is Object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

/** The first byte behind the white space that JSON allows. */
function firstByte(body: Buffer): number | undefined {
  let at = 0;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++;
  return body[at];
}

/** The JSON object that a body is, or null. */
function asObject(body: Buffer): Object | null {
  if (firstByte(body) !== OPEN_OBJECT) return null;
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}
