import type { Cluster } from '../kafka/cluster.ts';
import { type BatchRecord, headerOf, readBatch } from '../kafka/record-batch.ts';
import type { ModelBucket } from '../storage/model-objects.ts';

/** A record as it is in a topic at the end. */
export type StoredRecord = BatchRecord & {
  readonly topic: string;
  readonly partition: number;
  /** Which of two was appended first, whatever their partition. */
  readonly order: number;
  readonly eventId: string | undefined;
  /** When consumers could read it, in simulated time; undefined: they never could. */
  readonly readableAt: number | undefined;
  /** The object that it refers to; null where that is not there, undefined where it refers to none. */
  readonly object: Buffer | null | undefined;
};

/** All records of all topics, those first that were appended first. */
export function storedRecords(cluster: Cluster, bucket: ModelBucket): StoredRecord[] {
  const entries = [...cluster.stored()].sort((a, b) => a.order - b.order);
  let order = 0;
  return entries.flatMap(({ batch, topic, partition, readableAt }) =>
    readBatch(batch).map((record) => {
      const { key, value, headers, timestamp } = record;
      const eventId = headerOf(record, 'ce_id')?.toString('latin1');
      return {
        key,
        value,
        headers,
        timestamp,
        topic,
        partition,
        order: ++order,
        eventId,
        readableAt,
        object: objectOf(value, bucket),
      };
    }),
  );
}

/** The event id of a dead-letter record. */
export const deadLetterEventOf = (record: StoredRecord): string | undefined =>
  headerOf(record, 'hookline.event-id')?.toString('latin1');

const SCHEME = 's3://';
const ADDRESS = /s3:\/\/events\/(hookline\/[\w./-]+?\.(?:json|bin))/;

function objectOf(value: Buffer | null, bucket: ModelBucket): Buffer | null | undefined {
  if (!value?.includes(SCHEME)) return undefined;
  const [, key] = ADDRESS.exec(value.toString('latin1')) ?? [];
  return key === undefined ? undefined : (bucket.objects.get(key) ?? null);
}
