import { setTimeout as sleep } from 'node:timers/promises';
import type { IncomingRecord } from './incoming-record.ts';
import { toIncomingRecord } from './incoming-record.ts';
import type { KafkaClient } from './kafkajs-client.ts';

/** Reads a whole topic from its beginning and goes on with it, in a consumer group of its own. */
export type TopicFollower = {
  /** Resolves when everything that the topic held at the time of the call has been handed over. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** Leaves and deletes the group. */
  stop(): Promise<void>;
};

export type FollowerParts = {
  readonly kafka: KafkaClient;
  readonly topic: string;
  /** Nobody else's: kafkajs has no reading without a group. */
  readonly groupId: string;
  /** One record after the other, each once. A rejected one comes again. */
  readonly onRecord: (record: IncomingRecord) => void | Promise<void>;
  /** Begins at the topic's present end instead of its beginning: only what comes after the start is handed over. */
  readonly onlyNew?: boolean;
  /** The consumer has ended for good: only a new process reads on. */
  readonly onFatal: (error: Error) => void;
};

const CAUGHT_UP_POLL_MS = 20;
const ENDS_AGAIN_MS = 250;

export async function followTopic(parts: FollowerParts): Promise<TopicFollower> {
  const { kafka, topic, groupId, onRecord } = parts;
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    metadataMaxAge: 3_000,
    sessionTimeout: 30_000,
    maxWaitTimeInMs: 500,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => true },
  });
  const admin = kafka.admin();
  /** A plain Error brings the record again after a restart of the consumer; others would end it for good. */
  const handOver = async (record: IncomingRecord) => {
    try {
      await onRecord(record);
    } catch (error) {
      throw new Error(`record ${topic}[${record.partition}]@${record.offset} could not be handled`, {
        cause: error,
      });
    }
  };
  /** By partition, the offset behind the last record that was handed over. */
  const positions = new Map<number, bigint>();
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    advance(positions, payload.partition, BigInt(payload.lastOffset) + 1n);
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) parts.onFatal(payload.error);
  });
  await Promise.all([admin.connect(), consumer.connect()]);
  if (parts.onlyNew) {
    for (const { partition, high } of await admin.fetchTopicOffsets(topic))
      positions.set(partition, BigInt(high));
  }
  const starts = [...positions];
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      // A group without commits begins anew after each rebalance: what was handed over is not handed over again.
      const offset = BigInt(message.offset);
      if (offset < (positions.get(partition) ?? 0n)) return;
      await handOver(toIncomingRecord(topic, partition, message));
      advance(positions, partition, offset + 1n);
    },
  });
  for (const [partition, offset] of starts) consumer.seek({ topic, partition, offset: String(offset) });
  return {
    async caughtUp(signal) {
      const ends = await fetchEnds(admin, topic, signal);
      const behind = () =>
        ends.some(({ partition, high, low }) => {
          return high !== low && (positions.get(partition) ?? 0n) < BigInt(high);
        });
      while (behind()) await sleep(CAUGHT_UP_POLL_MS, undefined, { signal });
    },
    async stop() {
      await consumer.disconnect();
      await admin.deleteGroups([groupId]).catch(() => {});
      await admin.disconnect();
    },
  };
}

/** Leaders move and brokers restart: whoever waits to catch up waits for that too. */
async function fetchEnds(admin: ReturnType<KafkaClient['admin']>, topic: string, signal: AbortSignal) {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch {
      await sleep(ENDS_AGAIN_MS, undefined, { signal });
    }
  }
}

function advance(positions: Map<number, bigint>, partition: number, offset: bigint): void {
  if (offset > (positions.get(partition) ?? -1n)) positions.set(partition, offset);
}
