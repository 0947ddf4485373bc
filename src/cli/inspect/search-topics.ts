import { isoOf } from '../../core/instant.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { withAdmin } from '../../kafka/admin/describe-topics.ts';
import { withRanges } from '../../kafka/consume/range-reader.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import type { Describe, Description, TopicKind } from './describe-record.ts';

/** A record about what is searched for. */
export type Found = Description & {
  /** When the record was written, as ISO 8601. */
  readonly time: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
};

/** Records that are described side by side: one whose schema the registry does not give takes seconds. */
const AT_ONCE = 1_000;

/** Records that are shown of one topic: the latest ones. */
export const DEFAULT_LIMIT = 20;

/** The command topics and all existing topics with the prefix, each with its kind. */
export async function topicsToSearch(
  kafka: Pick<KafkaAccess, 'client'>,
  prefix: string,
  commandTopics: readonly string[],
): Promise<Map<string, TopicKind>> {
  const existing = await withAdmin(kafka.client, (admin) => admin.listTopics());
  const own = new Map<string, TopicKind>([
    [topicName(prefix, OWN_TOPICS.commands), 'command'],
    [topicName(prefix, OWN_TOPICS.results), 'result'],
    [topicName(prefix, OWN_TOPICS.subscriptions), 'state'],
    [topicName(prefix, OWN_TOPICS.deadLetter), 'dead letter'],
  ]);
  const events = existing.filter((topic) => topic.startsWith(`${prefix}.`) && !own.has(topic));
  for (const topic of events) own.set(topic, 'event');
  for (const topic of commandTopics) own.set(topic, 'command');
  return new Map([...own].filter(([topic]) => existing.includes(topic)));
}

/** Reads a whole topic: the latest records about what is searched for, and how many there are before them. */
export async function searchTopic(
  kafka: Pick<KafkaAccess, 'openTopic' | 'clock'>,
  topic: string,
  of: { readonly wanted: string; readonly describe: Describe; readonly limit: number },
): Promise<{ latest: Found[]; earlier: number }> {
  let latest: Found[] = [];
  let count = 0;
  let begun: Promise<void>[] = [];
  const keep = (found: Found | null) => {
    if (!found) return;
    count++;
    latest.push(found);
    if (latest.length > 2 * of.limit) latest = latest.sort(byTime).slice(-of.limit);
  };
  await withRanges({ ...kafka, topic }, async (reader) => {
    await reader.read(await reader.span(), (record) => {
      begun.push(describeAt(record, of.wanted, of.describe).then(keep));
      if (begun.length < AT_ONCE) return;
      const all = Promise.all(begun);
      begun = [];
      return all.then(() => {});
    });
    await Promise.all(begun);
  });
  latest = latest.sort(byTime).slice(-of.limit);
  return { latest, earlier: count - latest.length };
}

/** The record with its position and description; null if it is about something else. */
export async function describeAt(
  record: IncomingRecord,
  wanted: string,
  describe: Describe,
): Promise<Found | null> {
  const { topic, partition, offset, timestamp } = record;
  const description = await describe(record, wanted);
  if (description === null) return null;
  return { ...description, time: isoOf(timestamp), topic, partition, offset };
}

/**
 * What was found, in the order in which it was written. The first record of an event is `stored`; the same event delivered
 * again is a `repeat`.
 */
export function inOrder(found: readonly Found[]): Found[] {
  const stored = new Set<string>();
  return found.toSorted(byTime).map((one) => {
    const { step, topic, eventId } = one;
    if (step !== 'stored' || eventId === undefined) return one;
    const event = `${topic}/${eventId}`;
    if (stored.has(event)) return { ...one, step: 'repeat' };
    stored.add(event);
    return one;
  });
}

type Timed = Pick<Found, 'time'>;

/** The earliest first. */
export const byTime = (a: Timed, b: Timed) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0);
