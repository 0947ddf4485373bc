import { readTopic, type SeenRecord, testKafka } from './topic-reader.ts';
import { until } from './until.ts';

/** All that is set of the topic: what is not named here goes back to the brokers' own. */
const AT_ONCE = {
  'cleanup.policy': 'compact',
  'min.cleanable.dirty.ratio': '0.001',
  'segment.ms': '100',
  'delete.retention.ms': '100',
  'min.compaction.lag.ms': '0',
};

/**
 * Has the brokers compact a topic until each key but those that begin with `#` is there once, and gives what is left.
 * A segment is compacted when the next one has begun, so records are added under the key `#fill`.
 */
export async function compactTopic(
  env: Readonly<Record<string, string | undefined>>,
  topic: string,
): Promise<SeenRecord[]> {
  const kafka = testKafka(env);
  const admin = kafka.admin();
  const producer = kafka.producer();
  await Promise.all([admin.connect(), producer.connect()]);
  try {
    const configEntries = Object.entries(AT_ONCE).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topic, configEntries }] });
    const partitions = (await admin.fetchTopicOffsets(topic)).map(({ partition }) => partition);
    return await until(
      `${topic} is compacted`,
      async () => {
        const messages = partitions.map((partition) => ({ partition, key: '#fill', value: 'x' }));
        await producer.send({ topic, acks: -1, messages });
        const records = await readTopic(env, topic, 0);
        const refs = records.flatMap(({ key }) => (key === null || key.startsWith('#') ? [] : [key]));
        return new Set(refs).size === refs.length && records;
      },
      60_000,
    );
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  }
}
