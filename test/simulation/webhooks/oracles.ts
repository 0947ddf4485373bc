import type { Attempt } from './host.ts';
import { judgeAnswers } from './judge-answers.ts';
import { judgeRecords } from './judge-records.ts';
import { judgeWrites } from './judge-writes.ts';
import type { Judged } from './judged.ts';
import { TAMPERED, type Webhook } from './messages.ts';
import { deadLetterEventOf, type StoredRecord, storedRecords } from './stored-events.ts';

/** Every promise that was broken, one line each. */
export function judge(judged: Judged): string[] {
  const { site, host } = judged;
  const records = storedRecords(site.cluster, site.bucket);
  const stored = storedOf(records, host.attempts);
  return [
    ...judgeStored(judged, stored),
    ...judgeAnswers(judged, records),
    ...judgeRecords({ site, records }, host.attempts),
    ...judgeRefused(judged, stored),
    ...judgeOrder(judged, stored),
    ...judgeWrites(site.network.writes, host.attempts),
  ];
}

/** What is stored at the end. */
type Stored = {
  readonly records: readonly StoredRecord[];
  /** The records of a webhook's event in its topic, the first one first. */
  eventsOf(webhook: Webhook): readonly StoredRecord[];
  /** Webhooks that were acknowledged and are a dead-letter record. */
  readonly deadLettered: ReadonlySet<Webhook>;
};

function storedOf(records: readonly StoredRecord[], attempts: readonly Attempt[]): Stored {
  const byEvent = Map.groupBy(records, ({ eventId }) => eventId);
  // In whichever form; {@link judgeRecords} judges what they hold.
  const dead = new Set(records.filter(({ topic }) => topic.endsWith('dead-letter')).map(deadLetterEventOf));
  const acknowledged = new Set(attempts.filter(isAcknowledged).map(({ webhook }) => webhook));
  const isDead = ({ eventId }: Webhook) => dead.has(eventId);
  return {
    records,
    eventsOf: ({ eventId, topic }) => byEvent.get(eventId)?.filter((record) => record.topic === topic) ?? [],
    deadLettered: new Set([...acknowledged].filter(isDead)),
  };
}

const isAcknowledged = ({ answer }: Attempt) =>
  answer !== undefined && answer !== 'reset' && answer.status === 200;

/** What was acknowledged is stored, byte for byte, under the id that the answer named. */
function judgeStored({ host, isAnyTooLarge }: Judged, { eventsOf, deadLettered }: Stored): string[] {
  const faults: string[] = [];
  for (const attempt of host.attempts.filter(isAcknowledged)) {
    const { webhook, answer } = attempt;
    const { receipt } = answer as { receipt?: { eventId: string; stored: string } };
    const what = `webhook ${webhook.number} (${webhook.kind}), acknowledged as ${receipt?.stored},`;
    if (receipt?.eventId !== webhook.eventId) faults.push(`${what} has the wrong event id`);
    const own = eventsOf(webhook);
    for (const record of own) {
      const fault = contentFault(record, webhook);
      if (fault) faults.push(`${what} ${fault}`);
    }
    const mayBeDeadLettered = isAnyTooLarge || webhook.kind === 'malformed';
    const isDeadLettered = deadLettered.has(webhook);
    if (isDeadLettered && !mayBeDeadLettered)
      faults.push(`${what} is a dead-letter record although nothing is wrong with it`);
    if (own.length === 0 && !isDeadLettered) faults.push(`${what} is lost`);
  }
  return [...new Set(faults)];
}

function contentFault(record: StoredRecord, { message, key }: Webhook): string | null {
  const { object } = record;
  if (record.key?.toString() !== key) return 'has another key';
  if (object === null) return 'refers to an object that is not there';
  if (object) return object.equals(message) ? null : 'refers to an object with other bytes';
  return record.value?.includes(message) ? null : 'has other bytes';
}

/** What was refused is nowhere: no record, no object, no row. */
function judgeRefused({ site }: Judged, { records }: Stored): string[] {
  const bodies = [...site.volume.rows().values()].map(({ body }) => Buffer.from(body));
  const places = [...records.map(({ value }) => value), ...site.bucket.objects.values(), ...bodies];
  return places.some((bytes) => bytes?.includes(TAMPERED)) ? ['a tampered webhook is stored'] : [];
}

/**
 * Of two events of a key, the one that arrived first and was acknowledged appears first, if the other had not arrived
 * before. What was not acknowledged may be there or not, and promises no order.
 */
function judgeOrder({ site, host, mayLosePlace }: Judged, { eventsOf, deadLettered }: Stored): string[] {
  const arrivedFirst = new Map<number, number>();
  const acknowledged = new Map<Webhook, number>();
  for (const attempt of host.attempts) {
    const { webhook, arrival } = attempt;
    if (!arrivedFirst.has(webhook.number)) arrivedFirst.set(webhook.number, arrival);
    if (isAcknowledged(attempt) && !acknowledged.has(webhook)) acknowledged.set(webhook, arrival);
  }
  // One that was too large is in its topic only where it came again later.
  for (const webhook of deadLettered) acknowledged.delete(webhook);
  for (const webhook of acknowledged.keys())
    if (site.passed.some((body) => body.equals(webhook.body))) acknowledged.delete(webhook);
  for (const webhook of mayLosePlace ? acknowledged.keys() : [])
    if (webhook.kind === 'large') acknowledged.delete(webhook);
  const faults: string[] = [];
  const appeared = [...acknowledged].flatMap(([webhook, arrival]) => {
    const at = eventsOf(webhook)[0]?.order;
    return at === undefined ? [] : [{ webhook, arrival, began: arrivedFirst.get(webhook.number) ?? 0, at }];
  });
  for (const events of Map.groupBy(appeared, ({ webhook }) => `${webhook.topic} ${webhook.key}`).values()) {
    for (const early of events)
      for (const late of events)
        if (late.began > early.arrival && early.at > late.at)
          faults.push(
            `${early.webhook.key}: webhook ${late.webhook.number} appears before ${early.webhook.number}`,
          );
  }
  return faults;
}
