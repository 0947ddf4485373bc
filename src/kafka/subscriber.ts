import { setTimeout as sleep } from 'node:timers/promises';
import type kafkajs from 'kafkajs';
import { isRefusal } from './explain-refusal.ts';
import { type IncomingRecord, toIncomingRecord } from './incoming-record.ts';
import type { KafkaClient } from './kafkajs-client.ts';

/** Reads topics in a group, each partition in order, and commits a record when its handler is done. */
export type Subscriber = {
  /** Milliseconds since the group was last heard of: liveness. */
  silentFor(): number;
  /** Waits for the handlers under way, then leaves the group. */
  stop(): Promise<void>;
};

export type SubscriberParts = {
  readonly kafka: KafkaClient;
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * Called for one record after the other of a partition, partitions beside one another. When it resolves the record
   * is committed; when it rejects, the record comes again. What it does must be safe to be done twice.
   */
  readonly handle: (record: IncomingRecord, signal: AbortSignal) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  /** The brokers refuse the credentials: they are tried again, as the files hold them then. null when that is over. */
  readonly onRefused: (error: Error | null) => void;
  /** The consumer has ended for good: only a new process reads on. */
  readonly onFatal: (error: Error) => void;
};

const HEARTBEAT_EVERY_MS = 3_000;
const PARTITIONS_AT_ONCE = 16;
/** Before a record that failed is fetched again. */
const AGAIN_AFTER_MS = 500;
/** Before credentials that were refused are tried again. */
const REJOIN_AFTER_MS = 2_000;
/** Handlers under way are waited for so long. */
const DISCONNECT_MS = 15_000;

export async function subscribe(parts: SubscriberParts): Promise<Subscriber> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let heardAt = performance.now();
  const heard = () => {
    heardAt = performance.now();
  };
  /** kafkajs gives up for good where credentials are refused. They may have been changed here and there since. */
  const onEnd = async (error: Error) => {
    if (!isRefusal(error)) return parts.onFatal(error);
    for (let said = ''; !signal.aborted; ) {
      heard();
      await sleep(REJOIN_AFTER_MS, undefined, { signal }).catch(() => {});
      const refusal = await join().then(
        () => null,
        (again: Error) => again,
      );
      if (refusal === null) {
        if (said !== '') parts.onRefused(null);
        return;
      }
      if (refusal.message !== said) parts.onRefused(refusal);
      said = refusal.message;
    }
  };
  const join = async () => {
    consumer = await openConsumer(parts, { heard, onEnd, signal });
    if (signal.aborted) await consumer.disconnect();
  };
  let consumer = await openConsumer(parts, { heard, onEnd, signal });
  return {
    silentFor: () => performance.now() - heardAt,
    async stop() {
      stopping.abort();
      // A consumer whose brokers are away may never come to the end of its disconnecting.
      await Promise.race([consumer.disconnect(), sleep(DISCONNECT_MS, undefined, { ref: false })]);
    },
  };
}

type Life = {
  readonly heard: () => void;
  readonly onEnd: (error: Error) => Promise<void>;
  readonly signal: AbortSignal;
};

async function openConsumer(
  parts: SubscriberParts,
  { heard, onEnd, signal }: Life,
): Promise<kafkajs.Consumer> {
  const consumer = parts.kafka.consumer({
    groupId: parts.groupId,
    allowAutoTopicCreation: false,
    metadataMaxAge: 3_000,
    sessionTimeout: 10_000,
    rebalanceTimeout: 60_000,
    maxWaitTimeInMs: 500,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => true },
  });
  for (const event of ['HEARTBEAT', 'FETCH', 'GROUP_JOIN'] as const)
    consumer.on(consumer.events[event], heard);
  let hasEnded = false;
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || hasEnded) return;
    hasEnded = true;
    void onEnd(payload.error);
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...parts.topics], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
      // Nothing may escape from here: a RangeError would end the consumer for good, the process staying alive and green.
      eachBatch: async (payload) => {
        const beat = setInterval(() => void payload.heartbeat().catch(() => {}), HEARTBEAT_EVERY_MS);
        try {
          await handleBatch(payload, consumer, parts, signal);
        } finally {
          clearInterval(beat);
        }
      },
    });
  } catch (error) {
    await consumer.disconnect().catch(() => {});
    throw error;
  }
  return consumer;
}

/** Ends early where a record failed or could not be committed: it is fetched again, by whoever then has the partition. */
async function handleBatch(
  { batch, isRunning, isStale, resolveOffset }: kafkajs.EachBatchPayload,
  consumer: kafkajs.Consumer,
  parts: SubscriberParts,
  signal: AbortSignal,
): Promise<void> {
  const { topic, partition } = batch;
  for (const message of batch.messages) {
    if (!isRunning() || isStale() || signal.aborted) return;
    const record = toIncomingRecord(topic, partition, message);
    try {
      await parts.handle(record, signal);
      await consumer.commitOffsets([{ topic, partition, offset: String(record.offset + 1n) }]);
    } catch (error) {
      parts.onError(error, record);
      await sleep(AGAIN_AFTER_MS, undefined, { signal }).catch(() => {});
      return;
    }
    resolveOffset(message.offset);
  }
}
