import type { OpenedMessage, VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { memberSpan } from '../core/json-member.ts';
import type { SealedLayout } from '../crypto/layout.ts';
import {
  cutSealed,
  decodeSealed,
  isEnvelope,
  openSealed,
  readEnvelope,
  type SealedPieces,
} from '../crypto/sealed-body.ts';
import type { DeliveryParts } from './delivery-parts.ts';

type Object = Readonly<Record<string, unknown>>;
type Parts = Pick<DeliveryParts, 'layout' | 'encryptionKeysOf' | 'observer' | 'memory'>;

/**
 * The plain message of a delivery. A JSON body is plain unless the layout is a JSON one; an octet-stream is sealed
 * unless it is itself a JSON object. It is signed either way.
 * @throws HooklineError UNDECRYPTABLE
 */
export function openMessage(delivery: VerifiedDelivery, parts: Parts): OpenedMessage {
  return { ...delivery, message: plainMessage(delivery, parts), opened: true };
}

function plainMessage(
  delivery: VerifiedDelivery,
  { layout, encryptionKeysOf, observer, memory }: Parts,
): Buffer {
  const { body, ref } = delivery;
  const open = (pieces: SealedPieces | null): Buffer => {
    const opened = pieces && openSealed(pieces, encryptionKeysOf(ref), memory);
    if (!opened) throw new HooklineError('UNDECRYPTABLE');
    observer.keyMatched(ref, 'encryption', opened.key.place);
    return opened.plain;
  };
  if (layout.form !== 'envelope' && layout.place === 'body') {
    if (delivery.mediaType === 'json' || asObject(body)) return body;
    return open(cutSealed(layout, decodeSealed(layout.form, body)));
  }
  const message = asObject(body);
  if (!message) return body;
  if (layout.place === 'body')
    return isEnvelope(layout, message) ? open(readEnvelope(layout, message)) : body;
  const pieces = sealedPayload(layout, message.payload);
  return pieces === 'plain' ? body : replacePayload(body, open(pieces));
}

/** The pieces of a sealed `payload`; 'plain' where it is no sealed one, null where it only looks like one. */
function sealedPayload(layout: SealedLayout, payload: unknown): SealedPieces | null | 'plain' {
  if (layout.form === 'envelope') {
    const isSealed = isObject(payload) && isEnvelope(layout, payload);
    return isSealed ? readEnvelope(layout, payload) : 'plain';
  }
  if (typeof payload !== 'string') return 'plain';
  return cutSealed(layout, decodeSealed(layout.form, Buffer.from(payload, 'latin1')));
}

/** The message with its opened payload in the sealed one's place, all else kept to the byte. */
function replacePayload(body: Buffer, payload: Buffer): Buffer {
  const text = body.toString('utf8');
  const span = memberSpan(text, 'payload');
  if (!span) throw new HooklineError('UNDECRYPTABLE');
  return Buffer.concat([Buffer.from(text.slice(0, span.start)), payload, Buffer.from(text.slice(span.end))]);
}

const isObject = (value: unknown): value is Object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The JSON object that a body is, or null. One in 256 sealed bodies begins like one: only parsing tells. */
function asObject(body: Buffer): Object | null {
  if (!/^\s*\{/.test(body.toString('latin1', 0, 64))) return null;
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}
