import { randomUUID } from 'node:crypto';
import type kafkajs from 'kafkajs';
import { type TopicOffsets, topicOffsets } from '../../support/topic-offsets.ts';
import { writerType } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';
import type { EventRecord, Stored } from './stored.ts';

export type ReadBack = {
  readonly kafka: kafkajs.Kafka;
  readonly registryUrl: string;
  readonly topics: readonly string[];
  readonly into: Stored;
};

const READ_MS = 240_000;
/** A broker that was killed last takes its partitions back within it. */
const ENDS_MS = 60_000;

/** undefined where a partition has just got another leader: kafkajs then asks the one before. */
async function endsOf(
  kafka: kafkajs.Kafka,
  topics: readonly string[],
): Promise<Map<string, TopicOffsets> | undefined> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await topicOffsets(admin, topics);
  } catch (error) {
    if ((error as kafkajs.KafkaJSError).retriable) return undefined;
    throw error;
  } finally {
    await admin.disconnect();
  }
}

/** Reads the topics from their beginning to the end that they have now. Nothing may be written to them any more. */
export async function readBack({ kafka, registryUrl, topics, into }: ReadBack): Promise<void> {
  const ends = await until('the leaders say where the topics end', () => endsOf(kafka, topics), ENDS_MS);
  const left = new Map<string, number>();
  for (const [topic, offsets] of ends) {
    for (const { partition, high, low } of offsets) {
      if (high !== low) left.set(`${topic}/${partition}`, Number(high));
    }
  }
  if (left.size === 0) return;
  const consumer = kafka.consumer({ groupId: `faults-${randomUUID()}`, maxWaitTimeInMs: 100 });
  let crash: Error | undefined;
  let hasBegun = false;
  consumer.on(consumer.events.CRASH, ({ payload: { restart, error } }) => {
    // This may be the cluster's first group: its coordinator starts. Later it would read again what was counted.
    if (!restart || hasBegun) crash = error;
  });
  const takeBatch = async (batch: kafkajs.Batch) => {
    hasBegun = true;
    const { topic, partition, messages } = batch;
    for (const { key, value } of messages) {
      if (value) into.add(await decode(registryUrl, value), key?.toString() ?? null);
    }
    const end = left.get(`${topic}/${partition}`);
    if (end !== undefined && Number(batch.lastOffset()) + 1 >= end) left.delete(`${topic}/${partition}`);
  };
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat }) => {
        await takeBatch(batch);
        await heartbeat();
      },
    });
    const isRead = () => {
      if (crash) throw crash;
      return left.size === 0;
    };
    await until('everything is read back', isRead, READ_MS);
  } finally {
    await consumer.disconnect();
  }
}

/** By the schema that the registry has for it: no code of what wrote it takes part. */
async function decode(registryUrl: string, value: Buffer): Promise<EventRecord> {
  const type = await writerType(registryUrl, value.readInt32BE(1));
  return type.fromBuffer(value.subarray(5)) as EventRecord;
}
