import { lengthOf } from '../../kafka/connect/clip-values.ts';
import type { Fetched } from '../../kafka/consume/read-answer.ts';
import type { OpenTopic, TopicFetcher } from '../../kafka/consume/topic-fetcher.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { collectGarbage } from '../../runtime/v8-flags.ts';
import type { Turns, Urgency } from './turns.ts';

/**
 * Bytes of an answer, unless its first batch is larger. The index and scans take what is handled in one turn of the event
 * loop, some 20 ms; a page wants single records.
 */
const MAX_BYTES: Readonly<Record<Urgency, number>> = {
  search: 64 * 1024,
  tail: 256 * 1024,
  index: 256 * 1024,
  scan: 256 * 1024,
};

/** Bytes that are kept of a key, a value or a header: a command with 1,000 runs fits. */
const MAX_VALUE_BYTES = 64 * 1024;

/** Beside an answer that is larger, what is left of the one before would not fit into the memory. */
const LARGE_BYTES = 16 * 1024 * 1024;

/** Topics that are read with little memory, one answer after the other. */
export const boundedTopics =
  (kafka: Pick<KafkaAccess, 'openTopic'>, turns: Turns, urgency: Urgency): OpenTopic =>
  (topic) => {
    const limits = { maxBytes: MAX_BYTES[urgency], maxValueBytes: MAX_VALUE_BYTES };
    const fetcher = kafka.openTopic(topic, limits);
    const fetch: TopicFetcher['fetch'] = (node, from) =>
      turns.run(urgency, async () => {
        const fetched = await fetcher.fetch(node, from);
        if (bytesOf(fetched) > LARGE_BYTES) collectGarbage();
        return fetched;
      });
    return { ...fetcher, fetch };
  };

const bytesOf = (fetched: readonly Fetched[]): number => {
  let bytes = 0;
  for (const { records } of fetched)
    for (const { value } of records) bytes += value === null ? 0 : lengthOf(value);
  return bytes;
};
