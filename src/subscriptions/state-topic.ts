import { type RecordReader, type RecordTakerDeps, takeRecords } from '../avro/record-reader.ts';
import type { IncomingRecord, Position } from '../core/record.ts';
import type { OpenTopic } from '../kafka/consume/topic-fetcher.ts';
import { followTopic } from '../kafka/consume/topic-follower.ts';
import type { Clock } from '../runtime/clock.ts';
import { EPOCH_KEY, StateFence } from './state-fence.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

/** The compacted topic as a table, kept up to date. */
export type SubscriptionTable = {
  get(ref: string): SubscriptionRecord | undefined;
  all(): readonly SubscriptionRecord[];
  /** The id of the topic as it was last looked up: another one of the same name has another id. */
  topicId(): string;
  /** Resolves when the table has everything that was written before the call. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** This process has written a record there: `caughtUp` waits for it too. */
  wrote(position: Position): void;
  /** The topic's partitions, by number. */
  partitions(signal: AbortSignal): Promise<readonly number[]>;
  /** Which records count, as far as the topic has been read. */
  readonly fence: Omit<StateFence, 'check' | 'rewind' | 'dropMissing'>;
  /**
   * Sets the callback that gets the ref of each record that does not count; the claims' key also where records are read again,
   * or have a higher epoch than all before.
   */
  onFenced(listener: (ref: string) => void): void;
  /** Forgets what another topic of the same name had, and this one lacks. Gives how many. */
  dropMissing(): number;
  stop(): Promise<void>;
};

export type SubscriptionTableDeps = Pick<RecordTakerDeps, 'onUnreadable' | 'onAwaited'> & {
  readonly openTopic: OpenTopic;
  readonly topic: string;
  readonly clock: Clock;
  readonly read: RecordReader;
  /** Ends the wait for brokers that do not answer, until the topic is open. */
  readonly opening?: AbortSignal;
  /** Reading was interrupted; it starts again. */
  readonly onBrokenOff: (error: Error) => void;
  /** The topic was deleted and created anew. What is known of it stays. */
  readonly onRecreated?: () => void;
  /** Called with each record, and with null for a ref that was forgotten; `topicId` says of which topic of this name. */
  readonly onChange: (ref: string, record: SubscriptionRecord | null, topicId: string) => void;
};

export async function readSubscriptionTable(deps: SubscriptionTableDeps): Promise<SubscriptionTable> {
  const { openTopic, topic, read, onUnreadable, onAwaited, onBrokenOff, clock } = deps;
  const table = new Map<string, SubscriptionRecord>();
  const stopping = new AbortController();
  const fence = new StateFence();
  let tellFenced = (_ref: string) => {};
  let topicId = '';
  const noteTopicId: OpenTopic = (name, limits) => {
    const fetcher = openTopic(name, limits);
    const lookUp = async () => {
      const found = await fetcher.lookUp();
      topicId = found.topicId;
      return found;
    };
    return { ...fetcher, lookUp };
  };
  const take = takeRecords({
    read,
    onUnreadable,
    onAwaited,
    clock,
    signal: stopping.signal,
    onRecord(ref, fields) {
      // The key decides: the sealed keys of a record that was copied to another key do not open.
      const record = fields && ({ ...fields, ref } as SubscriptionRecord);
      if (record) table.set(ref, record);
      else table.delete(ref);
      deps.onChange(ref, record, topicId);
    },
  });
  const onRecord = async (record: IncomingRecord) => {
    const highest = fence.highest();
    const verdict = fence.check(record);
    if (fence.highest() > highest) tellFenced(EPOCH_KEY);
    if (verdict === 'counts') await take(record);
    const key = record.key?.toString() ?? '';
    const isLateClaim = key === EPOCH_KEY && fence.lateClaims.has(record.partition);
    if (verdict === 'fenced' || isLateClaim) tellFenced(key);
  };
  const onRewound = (partition: number) => {
    fence.rewind(partition);
    tellFenced(EPOCH_KEY);
  };
  const { onRecreated = () => {} } = deps;
  const follower = await followTopic({
    openTopic: noteTopicId,
    topic,
    opening: deps.opening,
    onRecord,
    onBrokenOff,
    onRewound,
    onRecreated,
    clock,
  });
  return {
    get: (ref) => table.get(ref),
    all: () => [...table.values()],
    topicId: () => topicId,
    caughtUp: (signal) => follower.caughtUp(signal),
    wrote: (position) => follower.wrote(position),
    partitions: (signal) => follower.partitions(signal),
    fence,
    onFenced(listener) {
      tellFenced = listener;
    },
    dropMissing() {
      const dropped = fence.missing().filter((ref) => table.delete(ref));
      fence.dropMissing();
      for (const ref of dropped) deps.onChange(ref, null, topicId);
      return dropped.length;
    },
    async stop() {
      stopping.abort();
      await follower.stop();
    },
  };
}
