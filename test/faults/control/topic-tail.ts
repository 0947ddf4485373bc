import { randomUUID } from 'node:crypto';
import type kafkajs from 'kafkajs';
import { writerType } from '../../support/topic-reader.ts';

type Seen = { readonly topic: string; readonly key: string; readonly record: Record<string, unknown> | null };

/** Follows topics of Avro records from their beginning, for as long as a test asks what is in them. */
export async function openTail(parts: {
  kafka: kafkajs.Kafka;
  registryUrl: string;
  topics: readonly string[];
}) {
  const seen: Seen[] = [];
  const epochs = new Map<string, number>();
  /** As every reader judges the state: a record of a lower epoch that comes after a higher one does not count. */
  const counts = (place: string, epoch: number) => {
    const highest = epochs.get(place) ?? 0;
    epochs.set(place, Math.max(highest, epoch));
    return epoch >= highest;
  };
  const consumer = parts.kafka.consumer({ groupId: `tail-${randomUUID()}`, maxWaitTimeInMs: 50 });
  await consumer.connect();
  await consumer.subscribe({ topics: [...parts.topics], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    async eachMessage({ topic, partition, message: { key, value, headers } }) {
      if (!counts(`${topic}/${partition}`, Number(headers?.['hookline.epoch'] ?? 0))) return;
      if (String(key).startsWith('#')) return;
      const record =
        value && (await writerType(parts.registryUrl, value.readInt32BE(1))).fromBuffer(value.subarray(5));
      seen.push({ topic, key: String(key), record: record && JSON.parse(JSON.stringify(record)) });
    },
  });
  return {
    /** Every record of a key, in the order in which they were written. */
    of: (topic: string, key: string) =>
      seen.filter((one) => one.topic === topic && one.key === key).map(({ record }) => record),
    all: (topic: string) => seen.filter((one) => one.topic === topic),
    [Symbol.asyncDispose]: () => consumer.disconnect(),
  };
}
