import type { RecordReader } from '../avro/record-reader.ts';
import type { IncomingRecord } from '../kafka/incoming-record.ts';
import type { KafkaClient } from '../kafka/kafkajs-client.ts';
import { followTopic, type TopicFollower } from '../kafka/topic-follower.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

/** The compacted topic as a table, kept up to date. */
export type SubscriptionTable = {
  get(ref: string): SubscriptionRecord | undefined;
  all(): readonly SubscriptionRecord[];
  /** Resolves when everything that was written before the call is in the table. */
  caughtUp(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

export type SubscriptionTableParts = {
  readonly kafka: KafkaClient;
  readonly topic: string;
  readonly newGroupId: () => string;
  readonly read: RecordReader;
  /** Told of each record, and with null of one that was forgotten. */
  readonly onChange: (ref: string, record: SubscriptionRecord | null) => void;
  /** A record that can't be read is passed over: the ref keeps what was known of it. */
  readonly onUnreadable: (error: unknown, at: string) => void;
};

export async function readSubscriptionTable(parts: SubscriptionTableParts): Promise<SubscriptionTable> {
  const table = new Map<string, SubscriptionRecord>();
  const take = async (incoming: IncomingRecord) => {
    const ref = incoming.key?.toString() ?? '';
    try {
      const record = incoming.value && ((await parts.read(incoming.value)) as unknown as SubscriptionRecord);
      if (record) table.set(ref, record);
      else table.delete(ref);
      parts.onChange(ref, record);
    } catch (error) {
      parts.onUnreadable(error, `${incoming.topic}[${incoming.partition}]@${incoming.offset}`);
    }
  };
  const { kafka, topic, newGroupId } = parts;
  const follower: TopicFollower = await followTopic({ kafka, topic, newGroupId, onRecord: take });
  return {
    get: (ref) => table.get(ref),
    all: () => [...table.values()],
    caughtUp: (signal) => follower.caughtUp(signal),
    stop: () => follower.stop(),
  };
}
