import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { followTopic } from '../../../src/kafka/consume/topic-follower.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { openTopicAt } from '../../support/open-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';

let kafka: kafkajs.Kafka;
let admin: kafkajs.Admin;
const topics: string[] = [];

beforeAll(async () => {
  kafka = testKafka({ KAFKA_BROKERS: inject('brokers').join(',') });
  admin = kafka.admin();
  await admin.connect();
});

afterAll(async () => {
  await admin.deleteTopics({ topics });
  await admin.disconnect();
});

async function newTopic(configEntries: { name: string; value: string }[] = []): Promise<string> {
  const topic = `fetcher-${randomUUID()}`;
  await createTopic(admin, { topic, numPartitions: 2, configEntries });
  topics.push(topic);
  return topic;
}

const openTopic = openTopicAt(inject('brokers'));

/** All that a follower of the topic is handed over until it has caught up. */
async function readAll(topic: string): Promise<IncomingRecord[]> {
  const records: IncomingRecord[] = [];
  const onRecord = (record: IncomingRecord) => void records.push(record);
  const follower = await followTopic({ openTopic, topic, clock: systemClock, onRecord });
  await follower.caughtUp(AbortSignal.timeout(20_000));
  await follower.stop();
  return records;
}

const valuesOf = (records: readonly IncomingRecord[]) => records.map(({ value }) => String(value));

describe('a topic is read without a group', () => {
  it('up to what is committed: no record of an aborted transaction, and not one that is still open', async () => {
    const topic = await newTopic();
    const producer = kafka.producer({ transactionalId: topic, maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    const inTransaction = async (value: string, end: 'commit' | 'abort') => {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ partition: 0, value }] });
      await transaction[end]();
    };
    await inTransaction('a', 'commit');
    await inTransaction('b', 'abort');
    await inTransaction('c', 'commit');
    await inTransaction('d', 'abort');
    const open = await producer.transaction();
    await open.send({ topic, messages: [{ partition: 0, value: 'e' }] });
    const before = await readAll(topic);
    await open.commit();
    const after = await readAll(topic);
    await producer.disconnect();
    expect([valuesOf(before), valuesOf(after)]).toEqual([
      ['a', 'c'],
      ['a', 'c', 'e'],
    ]);
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    expect(groups).not.toContain('test');
  });

  it('compressed or not, with headers, tombstones and records that are larger than a fetch', async () => {
    const topic = await newTopic([{ name: 'max.message.bytes', value: '20000000' }]);
    const producer = kafka.producer();
    await producer.connect();
    const send = (message: kafkajs.Message, compression = kafkajs.CompressionTypes.None) =>
      producer.send({ topic, compression, messages: [{ partition: 1, timestamp: '1234', ...message }] });
    await send({ key: 'k', value: 'plain', headers: { a: ['1', '2'] } });
    await send({ key: 'k', value: 'packed' }, kafkajs.CompressionTypes.GZIP);
    await send({ key: 'k', value: null });
    await send({ key: null, value: Buffer.alloc(15_000_000, 7) });
    await send({ key: 'k', value: 'last' });
    await producer.disconnect();
    const records = await readAll(topic);
    expect(records.slice(0, 3)).toEqual([
      {
        topic,
        partition: 1,
        offset: 0n,
        key: Buffer.from('k'),
        value: Buffer.from('plain'),
        headers: { a: '2' },
        timestamp: 1_234,
      },
      expect.objectContaining({ offset: 1n, value: Buffer.from('packed') }),
      expect.objectContaining({ offset: 2n, value: null }),
    ]);
    expect(records[3]).toMatchObject({ key: null, value: { length: 15_000_000 } });
    expect(records.slice(4)).toMatchObject([{ offset: 4n, value: Buffer.from('last') }]);
  });

  it('with the time at which the broker wrote it where the topic says so', async () => {
    const topic = await newTopic([{ name: 'message.timestamp.type', value: 'LogAppendTime' }]);
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages: [{ value: 'a', timestamp: '1234' }] });
    await producer.disconnect();
    const [record] = await readAll(topic);
    expect(Math.abs(Date.now() - (record?.timestamp ?? 0))).toBeLessThan(600_000);
  });

  it('from a time on', async () => {
    const topic = await newTopic();
    const producer = kafka.producer();
    await producer.connect();
    for (const at of [1_000, 2_000, 3_000])
      await producer.send({ topic, messages: [{ partition: 0, value: String(at), timestamp: String(at) }] });
    await producer.disconnect();
    const fetcher = openTopic(topic);
    expect(await fetcher.offsets(1_500)).toEqual(
      new Map([
        [0, 1n],
        [1, 0n],
      ]),
    );
    expect((await fetcher.offsets(9_000)).get(0)).toBe(3n);
    fetcher.close();
  });
});

it('a topic that is not there, and brokers that are not, are named', async () => {
  const missing = openTopic(`none-${randomUUID()}`);
  await expect(missing.lookUp()).rejects.toThrow(/[Uu]nknown topic|UNKNOWN_TOPIC/);
  missing.close();
  const nobody = openTopicAt(['127.0.0.1:1'])('t');
  await expect(nobody.lookUp()).rejects.toThrow('KAFKA_BROKERS');
  await expect(nobody.offsets('end')).rejects.toThrow('KAFKA_BROKERS');
  nobody.close();
});
