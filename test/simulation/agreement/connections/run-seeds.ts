import { testKafka } from '../../../support/topic-reader.ts';
import { realTarget } from '../wire/real-target.ts';
import { MAX_MESSAGE_BYTES, PARTITIONS } from './data-steps.ts';
import type { Difference } from './difference.ts';
import { explain } from './explained.ts';
import { runSeed, type SeedResult } from './run-seed.ts';

/** Topics that are made and deleted in one request. */
const AT_ONCE = 25;
const configEntries = [
  { name: 'max.message.bytes', value: `${MAX_MESSAGE_BYTES}` },
  // The records have fixed timestamps.
  { name: 'retention.ms', value: '-1' },
];

/** Whether the model is wrong there. */
export const isFault = (difference: Difference): boolean => explain(difference) === undefined;

/** Plays these seeds, one after the other, each with a topic and a group of its own. */
export async function* runSeeds(
  brokers: readonly string[],
  { first, count }: { readonly first: number; readonly count: number },
): AsyncGenerator<SeedResult> {
  const admin = testKafka({ KAFKA_BROKERS: brokers.join(',') }).admin();
  const broker = realTarget(brokers);
  const run = `agreement-${Date.now()}`;
  const seeds = Array.from({ length: count }, (_, n) => first + n);
  await admin.connect();
  try {
    for (let at = 0; at < count; at += AT_ONCE) {
      const some = seeds.slice(at, at + AT_ONCE);
      const topics = some.map((seed) => ({
        topic: `${run}-${seed}`,
        numPartitions: PARTITIONS,
        configEntries,
      }));
      await admin.createTopics({
        topics: topics.map((topic) => ({ ...topic, replicationFactor: 1 })),
        waitForLeaders: false,
      });
      for (const seed of some) yield await runSeed(seed, { broker, topic: `${run}-${seed}`, isFault });
      await admin.deleteTopics({ topics: topics.map(({ topic }) => topic) });
    }
  } finally {
    await admin.disconnect();
  }
}
