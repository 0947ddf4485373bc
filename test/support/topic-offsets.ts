import type kafkajs from 'kafkajs';

export type TopicOffsets = Awaited<ReturnType<kafkajs.Admin['fetchTopicOffsets']>>;

/**
 * Of each topic, its partitions' first and end offsets. One topic after the other: kafkajs gives calls that run side by
 * side the metadata that the first of them asked for, so that the topics of the others seem to have no partitions.
 */
export async function topicOffsets(
  admin: kafkajs.Admin,
  topics: readonly string[],
): Promise<Map<string, TopicOffsets>> {
  const offsets = new Map<string, TopicOffsets>();
  for (const topic of topics) offsets.set(topic, await admin.fetchTopicOffsets(topic));
  return offsets;
}
