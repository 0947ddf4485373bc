import type { StoredDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import { type SealedFormat, type SealingKeys, seal, unseal } from '../../crypto/sealing.ts';
import { DEAD_LETTER_HEADERS as NAMES } from './dead-letter-headers.ts';

/** Different for each delivery: a body that was put under another one's headers does not open. */
const formatOf = (
  eventId: string,
  ref: string,
  subscriptionId: string,
  receivedAt: string,
): SealedFormat => ({
  format: 3,
  aad: Buffer.from(
    JSON.stringify(['hookline dead-letter record 1', eventId, ref, subscriptionId, receivedAt]),
  ),
});

/** Seals a dead-lettered body, of a type whose messages must not be readable in Kafka. */
export const sealBody = (keys: SealingKeys, eventId: string, delivery: StoredDelivery): Buffer =>
  seal(
    keys,
    formatOf(eventId, delivery.ref, delivery.subscriptionId, String(delivery.receivedAt)),
    delivery.body,
  );

/**
 * The body as it was received, of a dead-letter record with these headers.
 * @throws HooklineError BODY_SEALED where no key opens it
 */
export function openBody(
  keys: SealingKeys | undefined,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Buffer {
  if (headers[NAMES.sealed] === undefined) return body;
  const texts = [NAMES.eventId, NAMES.ref, NAMES.subscriptionId, NAMES.receivedAt] as const;
  const [eventId = '', ref = '', subscriptionId = '', receivedAt = ''] = texts.map((name) => headers[name]);
  const plain = keys && unseal(keys, formatOf(eventId, ref, subscriptionId, receivedAt), body);
  if (!plain) throw new HooklineError('BODY_SEALED');
  return plain;
}
