import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/cli/shell/connections.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { openKafka } from '../../../src/kafka/open-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';
import { writeRecords } from '../../support/write-records.ts';

const env = { KAFKA_BROKERS: inject('brokers').join(',') };
const admin = testKafka(env).admin();
/** Longer than a block of any codec. */
const LARGE = Array.from({ length: 20_000 }, () => randomUUID()).join();

beforeAll(() => admin.connect());
afterAll(() => admin.disconnect());

it.each(['gzip', 'snappy', 'lz4', 'zstd'])(
  'reads what is compressed by %s',
  async (codec) => {
    const topic = `${codec}-${randomUUID()}`;
    const configEntries = [{ name: 'compression.type', value: codec }];
    await createTopic(admin, { topic, numPartitions: 1, configEntries });
    onTestFinished(() => admin.deleteTopics({ topics: [topic] }));
    await writeRecords(env, topic, [{ value: 'small' }]);
    await writeRecords(env, topic, [{ value: LARGE }, { value: 'last' }]);
    const { client } = openKafka({
      settings: loadConfig(
        { source: nodeSource({ ...env, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' }) },
        'kafka',
      ).kafka,
      files: { renewed() {}, unusable() {} },
      clock: systemClock,
      clientId: 'test',
      log: () => {},
    });
    const seen: string[] = [];
    const failed: Error[] = [];
    const consumer = client.consumer({ groupId: topic, retry: { retries: 0 } });
    consumer.on(consumer.events.CRASH, ({ payload }) => void failed.push(payload.error));
    await consumer.connect();
    onTestFinished(() => consumer.disconnect());
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(`${message.value}`) });
    await until('all is read, or reading fails', () => seen.length === 3 || failed.length > 0, 30_000);
    expect(failed).toEqual([]);
    expect(seen).toEqual(['small', LARGE, 'last']);
  },
  60_000,
);
