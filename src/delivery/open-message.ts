import { isUtf8 } from 'node:buffer';
import { LARGE_BODY_BYTES, type OpenedMessage, type VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import { memberSpans, OPEN_ARRAY, OPEN_OBJECT, QUOTE, type Span } from '../core/json-scanner.ts';
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

type Fields = Readonly<Record<string, unknown>>;
type Deps = Pick<DeliveryPorts, 'layout' | 'encryptionKeysOf' | 'observer' | 'memory'>;

/** Of UNPARSABLE: it is no JSON, and what was sealed looks the same. */
const NO_KEY = 'and its subscription has no encryption key';

/**
 * Whether a key may be missing: by the code and the message of an error, as a dead-letter record has them too. A body that begins
 * like JSON is taken for malformed JSON.
 */
export const isUnopened = (code: string, message: string): boolean =>
  code === 'UNDECRYPTABLE' || (code === 'UNPARSABLE' && message.includes(NO_KEY));

/**
 * Opens a delivery and reads its message. The signed bytes alone decide whether they are sealed: never the media type,
 * which is not signed. A body that is a JSON object is plain; in a layout that seals the whole body all other bytes are
 * sealed. `read` is what finds out whether bytes are JSON, so that a plain body is scanned once.
 * @param read must throw UNPARSABLE where the message is not JSON; it may be called twice
 * @throws HooklineError UNDECRYPTABLE, and what `read` throws
 */
export function openMessage<T>(
  delivery: VerifiedDelivery,
  deps: Deps,
  read: (opened: OpenedMessage) => T,
): T {
  const { form, covers } = deps.layout;
  const readAs = (message: Buffer): T => read({ ...delivery, message, opened: true });
  if (form === 'envelope' || covers === 'payload') return readAs(openMember(delivery, deps));
  const first = firstByte(delivery.body);
  if (first !== OPEN_OBJECT) return readAs(openWhole(delivery, form, first === OPEN_ARRAY, deps));
  try {
    return readAs(delivery.body);
  } catch (error) {
    if (!hasCode(error, 'UNPARSABLE')) throw error;
    // One in 256 sealed bodies begins with a brace.
    return readAs(openWhole(delivery, form, true, deps));
  }
}

/** @param looksPlain it begins like JSON: where no key opens it, it is taken for malformed JSON */
function openWhole(
  { body, ref }: VerifiedDelivery,
  form: 'bytes' | 'base64' | 'hex',
  looksPlain: boolean,
  deps: Deps,
): Buffer {
  const keys = deps.encryptionKeysOf(ref);
  if (keys.length === 0) throw new HooklineError('UNPARSABLE', looksPlain ? undefined : NO_KEY);
  const plain = openPieces(splitSealed(deps.layout, decodeSealed(form, body)), { ref, keys }, deps);
  if (!plain) throw new HooklineError(looksPlain ? 'UNPARSABLE' : 'UNDECRYPTABLE');
  return plain;
}

/** The message where a member of a JSON object is sealed, or all of it in an envelope. */
function openMember({ body, ref }: VerifiedDelivery, deps: Deps): Buffer {
  const { layout } = deps;
  const open = (pieces: SealedPieces | null): Buffer => {
    const plain = openPieces(pieces, { ref, keys: deps.encryptionKeysOf(ref) }, deps);
    if (!plain) throw new HooklineError('UNDECRYPTABLE');
    return plain;
  };
  if (layout.covers === 'body') {
    const pieces = sealedEnvelope(layout, body);
    return pieces === 'plain' ? body : open(pieces);
  }
  // Most are not sealed: one parse tells, where the body is small.
  const known =
    layout.form === 'envelope' && body.length <= LARGE_BODY_BYTES && payloadEnvelope(layout, body);
  if (known === 'plain') return body;
  const span = memberSpans(body, ['payload'])?.get('payload');
  if (!span) return body;
  const pieces = known === false ? sealedPayload(layout, body.subarray(span.start, span.end)) : known;
  return pieces === 'plain' ? body : replace(body, span, open(pieces));
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
function sealedPayload(layout: SealedLayout, payload: Buffer): SealedPieces | null | 'plain' {
  if (layout.form === 'envelope') return sealedEnvelope(layout, payload);
  const text = asString(payload);
  return text === undefined
    ? 'plain'
    : splitSealed(layout, decodeSealed(layout.form, Buffer.from(text, 'latin1')));
}

/** The same of the payload of a small body. */
function payloadEnvelope(layout: SealedLayout, body: Buffer): SealedPieces | null | 'plain' {
  const payload = asObject(body)?.payload;
  const isSealed = typeof payload === 'object' && payload !== null && isEnvelope(layout, payload as Fields);
  return isSealed ? readEnvelope(layout, payload as Fields) : 'plain';
}

function sealedEnvelope(layout: SealedLayout, bytes: Buffer): SealedPieces | null | 'plain' {
  const fields = bytes.length > LARGE_BODY_BYTES ? envelopeFields(layout, bytes) : asObject(bytes);
  return fields && isEnvelope(layout, fields) ? readEnvelope(layout, fields) : 'plain';
}

/**
 * The fields of an envelope, and nothing else of the JSON object that the bytes are. 50 MB can hold more objects than fit into
 * a thread's heap, and V8 then ends the process. `JSON.parse` of all of it is faster, for as long as the bytes are few.
 */
function envelopeFields({ names }: SealedLayout, bytes: Buffer): Fields | null {
  const spans = memberSpans(bytes, Object.values(names));
  if (!spans) return null;
  return Object.fromEntries(
    [...spans].map(([name, { start, end }]) => [name, asString(bytes.subarray(start, end))]),
  );
}

/** The string that a JSON value is. */
const asString = (value: Buffer): string | undefined =>
  value[0] === QUOTE ? JSON.parse(value.toString('utf8')) : undefined;

/** The message with its opened payload in the sealed one's place, all else kept to the byte. */
function replace(body: Buffer, { start, end }: Span, payload: Buffer): Buffer {
  // As text it would be other bytes than those that were signed.
  if (!isUtf8(body)) throw new HooklineError('UNPARSABLE');
  return Buffer.concat([body.subarray(0, start), payload, body.subarray(end)]);
}

/** The first byte behind the white space that JSON allows. */
function firstByte(body: Buffer): number | undefined {
  let at = 0;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++;
  return body[at];
}

/** The JSON object that a small body is, or null. */
function asObject(body: Buffer): Fields | null {
  if (firstByte(body) !== OPEN_OBJECT) return null;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
