import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { lengthOf } from '../../../src/kafka/connect/clip-values.ts';
import { openRanges } from '../../../src/kafka/consume/range-reader.ts';
import type { FetchLimits } from '../../../src/kafka/consume/topic-fetcher.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { openTopicAt } from '../../support/open-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';

const kafka = testKafka({ KAFKA_BROKERS: inject('brokers').join(',') });
const admin = kafka.admin();
const topic = `clip-${randomUUID()}`;
const LARGE = Buffer.alloc(3_000_000, 'large ');

beforeAll(async () => {
  await admin.connect();
  const configEntries = [{ name: 'max.message.bytes', value: '10000000' }];
  await createTopic(admin, { topic, numPartitions: 1, configEntries });
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  const headers = { ce_id: 'id' };
  const compression = kafkajs.CompressionTypes.GZIP;
  await producer.send({ topic, messages: [{ key: 'small', value: 'small' }] });
  await producer.send({ topic, messages: [{ key: 'large', value: LARGE, headers }] });
  await producer.send({ topic, compression, messages: [{ key: 'packed', value: LARGE }] });
  await producer.send({ topic, messages: [{ key: 'gone', value: null }] });
  await producer.disconnect();
});

afterAll(async () => {
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
});

async function readAll(limits?: FetchLimits): Promise<IncomingRecord[]> {
  const open = openTopicAt(inject('brokers'));
  const reader = await openRanges({ openTopic: (name) => open(name, limits), topic, clock });
  const records: IncomingRecord[] = [];
  await reader.read(await reader.span(), (record) => void records.push(record));
  await reader.stop();
  return records;
}

it('keeps the beginning of each value, its length, and keys and headers', async () => {
  const records = await readAll({ maxBytes: 1_000_000, maxValueBytes: 1_000 });
  expect(records.map(({ key }) => String(key))).toEqual(['small', 'large', 'packed', 'gone']);
  const [small, large, packed, gone] = records;
  expect(String(small?.value)).toBe('small');
  for (const { value } of [large, packed] as IncomingRecord[]) {
    expect(value).toEqual(LARGE.subarray(0, 1_000));
    expect(lengthOf(value as Buffer)).toBe(LARGE.length);
  }
  expect(lengthOf(small?.value as Buffer)).toBe(5);
  expect(large?.headers).toEqual({ ce_id: 'id' });
  expect(gone?.value).toBeNull();
});

it('leaves the values of other readers whole, also while clipped ones are read', async () => {
  const [whole, clipped] = await Promise.all([readAll(), readAll({ maxBytes: 1_000, maxValueBytes: 10 })]);
  expect(whole.map(({ value }) => value?.length)).toEqual([5, LARGE.length, LARGE.length, undefined]);
  expect(clipped.map(({ value }) => value?.length)).toEqual([5, 10, 10, undefined]);
});
