import type { Receipt, VerifiedDelivery } from '../core/delivery.ts';
import { type DeadLetterStage, type HooklineError, hasCode } from '../core/errors.ts';
import { eventIdOf } from '../crypto/event-id.ts';
import { deadLetterHeaders } from './dead-letter-headers.ts';
import type { DeliveryParts } from './delivery-parts.ts';

/** Under the usual max.message.bytes of 1 MiB, with room for the headers. */
const FIRST_PART_BYTES = 900_000;
const LEAST_PART_BYTES = 16_384;

/** A delivery that goes to the dead letters, and why. */
export type Parking = {
  readonly delivery: VerifiedDelivery;
  /** Of the message, where it could be read; else the id is made of the body as it arrived. */
  readonly eventId: string | undefined;
  readonly reason: HooklineError;
  readonly stage: DeadLetterStage;
};

/**
 * Stores a verified delivery among the dead letters as it arrived: ciphertext stays ciphertext. Where the topic does
 * not take it whole it goes in parts that fit, in order, all under the event's id.
 * @throws HooklineError retryable ones: nothing is promised
 */
export async function parkDelivery(
  { delivery, reason, stage, ...parking }: Parking,
  parts: Pick<DeliveryParts, 'deadLetterTopic' | 'publish' | 'observer'>,
): Promise<Receipt> {
  const eventId = parking.eventId ?? eventIdOf(delivery.subscriptionId, delivery.body);
  const key = Buffer.from(eventId, 'latin1');
  const publishParts = async (pieces: readonly Buffer[]) => {
    const publishing = pieces.map((value, n) => {
      const headers = deadLetterHeaders({
        delivery,
        eventId,
        stage,
        reason,
        part: n + 1,
        parts: pieces.length,
      });
      return parts.publish({ topic: parts.deadLetterTopic, key, value, headers });
    });
    for (const result of await Promise.allSettled(publishing))
      if (result.status === 'rejected') throw result.reason;
  };
  let partBytes = Math.max(delivery.body.length, 1);
  for (;;) {
    try {
      await publishParts(cut(delivery.body, partBytes));
      break;
    } catch (error) {
      if (!hasCode(error, 'RECORD_TOO_LARGE') || partBytes <= LEAST_PART_BYTES) throw error;
      partBytes = Math.max(LEAST_PART_BYTES, Math.min(FIRST_PART_BYTES, Math.floor(partBytes / 2)));
    }
  }
  parts.observer.parked(stage);
  return { eventId, stored: 'kafka' };
}

function cut(body: Buffer, partBytes: number): Buffer[] {
  const count = Math.max(1, Math.ceil(body.length / partBytes));
  return Array.from({ length: count }, (_, n) => body.subarray(n * partBytes, (n + 1) * partBytes));
}
