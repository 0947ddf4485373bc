import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { isRefusal } from '../connect/explain-refusal.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { AssignedWork } from './assigned-work.ts';
import { toIncomingRecord } from './incoming-record.ts';
import { FairQueue } from './keyed-queue.ts';
import { singleWorkerAssigner } from './single-worker-assigner.ts';

/**
 * Reads topics in a group, of which one process works at a time, and commits a record when it and all before it in its
 * partition are done.
 */
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
  /** Unheard for so long, a process loses its partitions to the others. */
  readonly sessionTimeoutMs: number;
  /**
   * Records that share a key of these are handled one after the other, in the order in which they came; all others
   * beside one another. So a record that takes long holds up none but those of its keys. Where it rejects it is asked
   * again, and the record's partition waits: nobody knows yet what may run beside the record.
   */
  readonly keysOf: (record: IncomingRecord) => Promise<readonly string[]>;
  /**
   * When it resolves the record is done; when it rejects, it is called again. What it does must be safe to be done
   * twice: after a crash records come again. `lease` ends when the process stops or the partition is another's.
   */
  readonly handle: (record: IncomingRecord, lease: Lease) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  /** This process has begun to work, or stands by from now on. */
  readonly onWorking: (isWorking: boolean) => void;
  /** The brokers refuse the credentials: they are tried again, as the files hold them then. null when that is over. */
  readonly onRefused: (error: Error | null) => void;
  /** The consumer has ended for good: only a new process reads on. */
  readonly onFatal: (error: Error) => void;
};

const PARTITIONS_AT_ONCE = 16;
/** Records that are handled at the same time, over all partitions; the topics share them. */
const MOST_AT_ONCE = 32;
/** Before credentials that were refused are tried again. */
const REJOIN_AFTER_MS = 2_000;
/** Handlers under way are waited for so long. */
const FINISH_MS = 15_000;
const DISCONNECT_MS = 5_000;

export async function subscribe(parts: SubscriberParts): Promise<Subscriber> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const queue = new FairQueue(MOST_AT_ONCE, parts.topics);
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
    open = await openConsumer(parts, { heard, onEnd, signal, queue });
    if (signal.aborted) await open.consumer.disconnect();
  };
  let open = await openConsumer(parts, { heard, onEnd, signal, queue });
  return {
    silentFor: () => performance.now() - heardAt,
    async stop() {
      stopping.abort();
      await Promise.race([open.work.finish(), sleep(FINISH_MS, undefined, { ref: false })]);
      // A consumer whose brokers are away may never come to the end of its disconnecting.
      await Promise.race([open.consumer.disconnect(), sleep(DISCONNECT_MS, undefined, { ref: false })]);
    },
  };
}

type Life = {
  readonly heard: () => void;
  readonly onEnd: (error: Error) => Promise<void>;
  readonly signal: AbortSignal;
  readonly queue: FairQueue;
};

async function openConsumer(
  parts: SubscriberParts,
  { heard, onEnd, signal, queue }: Life,
): Promise<{ consumer: kafkajs.Consumer; work: AssignedWork }> {
  const consumer = parts.kafka.consumer({
    groupId: parts.groupId,
    allowAutoTopicCreation: false,
    metadataMaxAge: 3_000,
    sessionTimeout: parts.sessionTimeoutMs,
    heartbeatInterval: Math.round(parts.sessionTimeoutMs / 4),
    rebalanceTimeout: 60_000,
    maxWaitTimeInMs: 500,
    // The second is for a group that also has members of an older version, until they are gone.
    partitionAssigners: [singleWorkerAssigner(() => work.count()), kafkajs.PartitionAssigners.roundRobin],
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => true },
  });
  const work = new AssignedWork({ ...parts, consumer, queue });
  for (const event of ['HEARTBEAT', 'FETCH', 'GROUP_JOIN'] as const)
    consumer.on(consumer.events[event], heard);
  let hasEnded = false;
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || hasEnded) return;
    hasEnded = true;
    work.end();
    void onEnd(payload.error);
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...parts.topics], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
      eachBatch: async (payload) => takeBatch(payload, { work, signal }),
    });
  } catch (error) {
    work.end();
    await consumer.disconnect().catch(() => {});
    throw error;
  }
  return { consumer, work };
}

/**
 * Hands the records to where they are worked on, and doesn't wait for it: while one of its batches is in work kafkajs
 * fetches nothing more from the same broker, whatever the partition. Nothing may escape from here: a RangeError would
 * end the consumer for good, the process staying alive and green.
 */
function takeBatch(
  { batch, isRunning, isStale, resolveOffset }: kafkajs.EachBatchPayload,
  { work, signal }: { work: AssignedWork; signal: AbortSignal },
): void {
  const { topic, partition } = batch;
  for (const message of batch.messages) {
    if (!isRunning() || isStale() || signal.aborted) return;
    const record = toIncomingRecord(topic, partition, message);
    if (!work.take(record)) return;
    resolveOffset(message.offset);
  }
}
