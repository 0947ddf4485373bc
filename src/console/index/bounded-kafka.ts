import type { OpenTopic, TopicFetcher } from '../../kafka/consume/topic-fetcher.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import type { Turns, Urgency } from './turns.ts';

/** Bytes of an answer, unless its first batch is larger: it is handled in one turn of the event loop, some 20 ms. */
const MAX_BYTES = 1024 * 1024;

/** Bytes that are kept of a key, a value or a header: a command with 1,000 runs fits. */
export const MAX_VALUE_BYTES = 64 * 1024;

/** Topics that are read with little memory, one answer after the other. */
export const boundedTopics =
  (kafka: Pick<KafkaAccess, 'openTopic'>, turns: Turns, urgency: Urgency): OpenTopic =>
  (topic) => {
    const fetcher = kafka.openTopic(topic, { maxBytes: MAX_BYTES, maxValueBytes: MAX_VALUE_BYTES });
    const bounded: TopicFetcher = {
      ...fetcher,
      fetch: (node, from) => turns.run(urgency, () => fetcher.fetch(node, from)),
    };
    return bounded;
  };
