import { startStack } from '../../stack/start-stack.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { MAX_MESSAGE_BYTES, PARTITIONS } from './connections/data-steps.ts';
import { explain } from './connections/explained.ts';
import { runSeed } from './connections/run-seed.ts';
import { realWorld } from './wire/real-world.ts';

const seeds = Number(process.argv[2] ?? 20);
const first = Number(process.argv[3] ?? 1);
await using stack = await startStack({
  env: process.env,
  way: 'jvm',
  withRegistry: false,
  shortLived: true,
  kafka: { properties: { 'group.initial.rebalance.delay.ms': 50 } },
});
const admin = testKafka({ KAFKA_BROKERS: stack.brokers[0] ?? '' }).admin();
await admin.connect();
let compared = 0;
const seen = new Map<string, number>();
const begin = performance.now();
for (let seed = first; seed < first + seeds; seed++) {
  const topic = `agreement-${seed}`;
  await admin.createTopics({
    topics: [
      {
        ...{ topic, numPartitions: PARTITIONS },
        configEntries: [
          { name: 'max.message.bytes', value: `${MAX_MESSAGE_BYTES}` },
          { name: 'retention.ms', value: '-1' },
        ],
      },
    ],
  });
  const result = await runSeed(seed, {
    broker: realWorld(stack.brokers),
    topic,
    isFault: (one) => explain(one) === undefined && process.env.STOP !== undefined,
  });
  compared += result.compared;
  for (const one of result.differences) {
    const why = explain(one);
    const key = why ?? one.path;
    if (!seen.has(key)) console.log(seed, JSON.stringify(one));
    if (!seen.has(key) && process.env.STORY) console.log(result.story.join('\n'));
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  await admin.deleteTopics({ topics: [topic] });
}
console.log(seen, compared, performance.now() - begin);
await admin.disconnect();
