import type { Cluster } from '../kafka/cluster.ts';
import { type BatchRecord, readBatch } from '../kafka/record-batch.ts';
import type { ModelBucket } from '../storage/model-objects.ts';

/** A record as it is in a topic at the end. */
export type StoredRecord = BatchRecord & {
  readonly topic: string;
  readonly partition: number;
  /** Which of two was appended first, whatever their partition. */
  readonly order: number;
  readonly eventId: string | undefined;
};

/** All records of all topics, those first that were appended first. */
export function storedRecords(cluster: Cluster): StoredRecord[] {
  const entries = [...cluster.stored()].sort((a, b) => a.order - b.order);
  let order = 0;
  return entries.flatMap(({ batch, topic, partition }) =>
    readBatch(batch).map((record) => {
      const eventId = record.headers.find(([name]) => name === 'ce_id')?.[1].toString();
      return { ...record, topic, partition, order: ++order, eventId };
    }),
  );
}

const ADDRESS = /s3:\/\/events\/(hookline\/[\w./-]+?\.(?:json|bin))/;

/** The object that a record refers to; null where it is not there, undefined where the record refers to none. */
export function objectOf({ value }: StoredRecord, bucket: ModelBucket): Buffer | null | undefined {
  const [, key] = ADDRESS.exec(value?.toString('latin1') ?? '') ?? [];
  return key === undefined ? undefined : (bucket.objects.get(key) ?? null);
}
