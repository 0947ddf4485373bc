import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { openRanges, type RangeReader } from '../../../src/kafka/consume/range-reader.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { openTopicAt } from '../../support/open-topic.ts';
import { asAdmin, testKafka } from '../../support/topic-reader.ts';

const topic = `reader-${randomUUID()}`;
const RECORDS = 300;
let env: Record<string, string>;
let reader: RangeReader;
beforeAll(async () => {
  env = { KAFKA_BROKERS: inject('brokers').join(',') };
  const kafka = testKafka(env);
  const admin = kafka.admin();
  // kafkajs sends all partitions again where one was not ready: with a sequence the broker writes none of them twice.
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await Promise.all([admin.connect(), producer.connect()]);
  await createTopic(admin, { topic, numPartitions: 3 });
  // Partition 2 stays empty.
  const messages = Array.from({ length: RECORDS }, (_, n) => ({
    partition: n % 2,
    key: `k${n}`,
    value: Buffer.alloc(n % 50 === 0 ? 400_000 : 100, n % 251),
  }));
  for (let n = 0; n < RECORDS; n += 50)
    await producer.send({
      topic,
      messages: messages.slice(n, n + 50),
    });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
  reader = await openRanges({ openTopic: openTopicAt(inject('brokers')), topic, clock: systemClock });
});

afterAll(async () => {
  await reader.stop();
  await asAdmin(env, (admin) => admin.deleteTopics({ topics: [topic] }));
});

const offsets = (records: readonly IncomingRecord[], partition: number) =>
  records.filter((record) => record.partition === partition).map((record) => Number(record.offset));
const count = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

async function read(ranges: [partition: number, from: number, to: number][]): Promise<IncomingRecord[]> {
  const records: IncomingRecord[] = [];
  await reader.read(
    ranges.map(([partition, from, to]) => ({ partition, from: BigInt(from), to: BigInt(to) })),
    (record) => void records.push(record),
  );
  return records;
}

describe('a reader of a topic', () => {
  it('tells what the topic holds and reads all of it, each record once and in order', async () => {
    const span = await reader.span();
    expect(span.map(({ to }) => Number(to)).sort()).toEqual([0, 150, 150]);
    const records: IncomingRecord[] = [];
    await reader.read(span, (record) => void records.push(record));
    expect(records).toHaveLength(RECORDS);
    for (const partition of [0, 1]) expect(offsets(records, partition)).toEqual(count(0, 150));
  });

  it('reads chosen ranges, forwards and back again, and nothing beside them', async () => {
    for (const [from, to] of [
      [100, 103],
      [0, 1],
      [149, 150],
      [20, 90],
      [20, 21],
    ] as const) {
      const records = await read([[1, from, to]]);
      expect(offsets(records, 1)).toEqual(count(from, to));
      expect(records).toHaveLength(to - from);
    }
    const both = await read([
      [0, 5, 6],
      [1, 140, 150],
    ]);
    expect([offsets(both, 0), offsets(both, 1)]).toEqual([[5], count(140, 150)]);
    expect(await read([[2, 0, 0]])).toEqual([]);
  });

  it('rejects with what its receiver threw, and reads on afterwards', async () => {
    const failing = reader.read([{ partition: 0, from: 0n, to: 10n }], () => {
      throw new RangeError('not this one');
    });
    await expect(failing).rejects.toThrow('not this one');
    expect(offsets(await read([[0, 0, 10]]), 0)).toEqual(count(0, 10));
  });

  it('ends where retention has taken the records', async () => {
    const admin = testKafka(env).admin();
    await admin.connect();
    // Its metadata has to be there before records can be deleted.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '100' }] });
    expect(offsets(await read([[0, 90, 110]]), 0)).toEqual(count(100, 110));
    expect(await read([[0, 50, 60]])).toEqual([]);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] });
    expect(await read([[0, 120, 130]])).toEqual([]);
    await admin.disconnect();
  });
});
