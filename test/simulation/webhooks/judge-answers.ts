import type { Attempt } from './host.ts';
import { deadLetterEventOf, type StoredRecord } from './stored-events.ts';

/** What a webhook may be answered: no fault of ours is the sender's, and none is unforeseen. */
export function judgeStatuses(attempts: readonly Attempt[]): string[] {
  return attempts.flatMap(({ webhook, answer }) => {
    if (answer === undefined || answer === 'reset' || answer.status === 503) return [];
    const wanted = webhook.kind === 'tampered' ? 401 : 200;
    const { status, code = '' } = answer;
    return status === wanted
      ? []
      : [`webhook ${webhook.number} (${webhook.kind}) is answered ${status} ${code}`];
  });
}

/** What is acknowledged as stored in Kafka can be read there by then. */
export function judgeReadable(attempts: readonly Attempt[], records: readonly StoredRecord[]): string[] {
  const firstReadable = new Map<string, number>();
  for (const record of records) {
    const { readableAt = Number.POSITIVE_INFINITY } = record;
    const eventId = record.eventId ?? deadLetterEventOf(record) ?? '';
    firstReadable.set(eventId, Math.min(readableAt, firstReadable.get(eventId) ?? Number.POSITIVE_INFINITY));
  }
  return attempts.flatMap(({ webhook, answer, answeredAt }) => {
    if (answer === undefined || answer === 'reset' || answer.receipt?.stored !== 'kafka') return [];
    const at = firstReadable.get(webhook.eventId) ?? Number.POSITIVE_INFINITY;
    return at <= answeredAt
      ? []
      : [
          `webhook ${webhook.number} (${webhook.kind}) is acknowledged at ${answeredAt}, and readable at ${at}`,
        ];
  });
}
