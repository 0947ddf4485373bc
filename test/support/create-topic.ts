import type kafkajs from 'kafkajs';
import { until } from './until.ts';

/**
 * Creates a topic, and waits until each of its partitions has a leader. The client's own wait ends with an error where a
 * busy broker has not heard of the topic yet.
 */
export async function createTopic(admin: kafkajs.Admin, topic: kafkajs.ITopicConfig): Promise<void> {
  await admin.createTopics({ topics: [topic], waitForLeaders: false });
  await until(`${topic.topic} has its leaders`, async () => {
    const found = await admin.fetchTopicMetadata({ topics: [topic.topic] }).catch(() => undefined);
    const partitions = found?.topics[0]?.partitions ?? [];
    return partitions.length === (topic.numPartitions ?? 1) && partitions.every(({ leader }) => leader >= 0);
  });
}
