import type { Attempt } from './host.ts';
import type { Judged } from './judged.ts';
import { deadLetterEventOf, type StoredRecord } from './stored-events.ts';

/** Each request is answered, in time, by what became of it. */
export function judgeAnswers(judged: Judged, records: readonly StoredRecord[]): string[] {
  const { attempts } = judged.host;
  return [
    ...judgeStatuses(attempts),
    ...judgeReadable(attempts, records),
    ...judgeDeadlines(judged),
    ...(judged.site.system.hasSpool && judged.isDiskSound ? judgeSpooling(judged) : []),
  ];
}

/** What a webhook may be answered: no fault of ours is the sender's, and none is unforeseen. */
function judgeStatuses(attempts: readonly Attempt[]): string[] {
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
function judgeReadable(attempts: readonly Attempt[], records: readonly StoredRecord[]): string[] {
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

/** A dead-letter record is published after its event was refused, with a deadline of its own. */
const PUBLISHES = 2;
/** The end of a handover, sweeps, syncs of a slow disk one behind the other. */
const SLACK_MS = 8_000;

/** Whatever fails; time that the process was frozen is not its own. */
function judgeDeadlines({ site, host, frozen }: Judged): string[] {
  const { deadlineMs, objectDeadlineMs, hasObjects } = site.system;
  const limit = PUBLISHES * (deadlineMs + (hasObjects ? objectDeadlineMs : 0)) + SLACK_MS;
  return host.attempts.flatMap((attempt) => {
    const { number } = attempt.webhook;
    if (attempt.answer === undefined) return [`webhook ${number} is never answered`];
    const ms = tookMs(attempt, frozen);
    return ms > limit ? [`webhook ${number} is answered after ${Math.round(ms)} ms`] : [];
  });
}

function tookMs({ arrivedAt, answeredAt }: Attempt, frozen: Judged['frozen']): number {
  const asleep = frozen.map(({ from, to }) => Math.min(to, answeredAt) - Math.max(from, arrivedAt));
  return asleep.reduce((ms, one) => ms - Math.max(0, one), answeredAt - arrivedAt);
}

/** What waited for a handover, which it does once, is tried once more. */
const TRIES = 2;
const HANDOVER_MS = 1_000;
/** Syncs of the disk. */
const SPOOLED_SLACK_MS = 1_500;

/** With a spool none is refused for Kafka's sake, and one that needs no object waits for Kafka alone. */
function judgeSpooling({ site, host, frozen }: Judged): string[] {
  const limit = TRIES * site.system.deadlineMs + HANDOVER_MS + SPOOLED_SLACK_MS;
  return host.attempts.flatMap((attempt) => {
    const { webhook, answer } = attempt;
    if (answer === undefined || answer === 'reset') return [];
    const what = `webhook ${webhook.number} (${webhook.kind})`;
    if (answer.status === 503) return [`${what} is answered 503 ${answer.code} although there is a spool`];
    const ms = tookMs(attempt, frozen);
    const isLate = webhook.kind === 'event' && ms > limit;
    return isLate ? [`${what}, which needs no object, is answered after ${Math.round(ms)} ms`] : [];
  });
}
