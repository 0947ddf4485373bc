import type { RecordReader } from '../avro/record-reader.ts';
import { type RecordTakerDeps, takeRecords } from '../avro/record-reader.ts';
import type { IncomingRecord } from '../core/record.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import { followTopic } from '../kafka/consume/topic-follower.ts';
import type { Clock } from '../runtime/clock.ts';
import { StateFence } from './state-fence.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

/** The compacted topic as a table, kept up to date. */
export type SubscriptionTable = {
  get(ref: string): SubscriptionRecord | undefined;
  all(): readonly SubscriptionRecord[];
  /** Resolves when everything that was written before the call is in the table. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** The topic's partitions, by number. */
  partitions(signal: AbortSignal): Promise<readonly number[]>;
  /** What counts and what does not, as far as the topic has been read. */
  readonly fence: Pick<StateFence, 'highest' | 'isHeld' | 'overwritten' | 'isOverwritten'>;
  /** Sets what is called with the ref of each record that does not count. */
  onFenced(listener: (ref: string) => void): void;
  stop(): Promise<void>;
};

export type SubscriptionTableDeps = Pick<RecordTakerDeps, 'onUnreadable' | 'onAwaited'> & {
  readonly kafka: KafkaClient;
  readonly topic: string;
  readonly newGroupId: () => string;
  readonly clock: Clock;
  readonly read: RecordReader;
  /** The reading broke off, and is begun anew. */
  readonly onBrokenOff: (error: Error) => void;
  /** Told of each record, and with null of one that was forgotten. */
  readonly onChange: (ref: string, record: SubscriptionRecord | null) => void;
};

export async function readSubscriptionTable(parts: SubscriptionTableDeps): Promise<SubscriptionTable> {
  const { kafka, topic, newGroupId, read, onUnreadable, onAwaited, onBrokenOff, clock } = parts;
  const table = new Map<string, SubscriptionRecord>();
  const stopping = new AbortController();
  const fence = new StateFence();
  let tellFenced = (_ref: string) => {};
  const take = takeRecords({
    ...{ read, onUnreadable, onAwaited, clock, signal: stopping.signal },
    onRecord(ref, fields) {
      // A record that was copied to another key is that key's, so that its sealed keys do not open.
      const record = fields && ({ ...fields, ref } as SubscriptionRecord);
      if (record) table.set(ref, record);
      else table.delete(ref);
      parts.onChange(ref, record);
    },
  });
  const onRecord = async (record: IncomingRecord) => {
    const verdict = fence.judge(record);
    if (verdict === 'counts') await take(record);
    if (verdict === 'fenced') tellFenced(record.key?.toString() ?? '');
  };
  const follower = await followTopic({ kafka, topic, newGroupId, onRecord, onBrokenOff, clock });
  return {
    get: (ref) => table.get(ref),
    all: () => [...table.values()],
    caughtUp: (signal) => follower.caughtUp(signal),
    partitions: (signal) => follower.partitions(signal),
    fence,
    onFenced(listener) {
      tellFenced = listener;
    },
    async stop() {
      stopping.abort();
      await follower.stop();
    },
  };
}
