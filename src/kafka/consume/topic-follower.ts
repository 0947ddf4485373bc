import { setTimeout as sleep } from 'node:timers/promises';
import type { IncomingRecord } from '../../core/record.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { toIncomingRecord } from './incoming-record.ts';

export type FollowerParts = {
  readonly kafka: KafkaClient;
  readonly topic: string;
  /** Makes the name of a consumer group that nobody else has: kafkajs has no reading without one. */
  readonly newGroupId: () => string;
  /** One record after the other, each once. A rejected one comes again. */
  readonly onRecord: (record: IncomingRecord) => void | Promise<void>;
  /** Where it begins, unless at the oldest record: with what comes after the start, or with what was written since then (ms). */
  readonly from?: 'now' | number;
  /** The reading broke off, and is begun anew: again and again where the topic may not be read. */
  readonly onBrokenOff?: (error: Error) => void;
};

type Consumer = ReturnType<KafkaClient['consumer']>;
type Reader = { readonly consumer: Consumer; readonly groupId: string; hasEnded: boolean };

const CAUGHT_UP_POLL_MS = 20;
const AGAIN_AFTER_MS = 500;
const DISCONNECT_MS = 3_000;

/** Starts to read a whole topic, to go on with it. Rejects where the brokers don't answer. */
export async function followTopic(parts: FollowerParts): Promise<TopicFollower> {
  const follower = new TopicFollower(parts);
  try {
    await follower.start();
  } catch (error) {
    await follower.stop();
    throw error;
  }
  return follower;
}

/**
 * Reads one topic, in a consumer group of its own. When the consumer ends with an error another takes its place, in a
 * fresh group: in the old one it would have to wait until the cluster has forgotten its predecessor.
 */
export class TopicFollower {
  readonly #parts: FollowerParts;
  readonly #admin: ReturnType<KafkaClient['admin']>;
  /** By partition, the offset behind the last record that was handed over. */
  readonly #positions = new Map<number, bigint>();
  readonly #stopping = new AbortController();
  #reader: Reader | undefined;
  #isReplacing = false;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#admin = parts.kafka.admin();
  }

  async start(): Promise<void> {
    await this.#admin.connect();
    const { topic, from } = this.#parts;
    if (from === 'now') {
      for (const { partition, high } of await this.#admin.fetchTopicOffsets(topic))
        this.#positions.set(partition, BigInt(high));
    } else if (from !== undefined) {
      for (const { partition, offset } of await this.#admin.fetchTopicOffsetsByTimestamp(topic, from))
        this.#positions.set(partition, BigInt(offset));
    }
    await this.#read();
  }

  /** Resolves when everything that the topic held at the time of the call has been handed over. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const ends = await this.#fetchEnds(signal);
    const isBehind = () =>
      ends.some(({ partition, high, low }) => high !== low && this.#positionOf(partition) < BigInt(high));
    while (isBehind()) await sleep(CAUGHT_UP_POLL_MS, undefined, { signal });
  }

  async partitions(signal: AbortSignal): Promise<number[]> {
    return (await this.#fetchEnds(signal)).map(({ partition }) => partition);
  }

  /** Leaves and deletes the group. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#reader) await this.#close(this.#reader);
    await this.#admin.disconnect();
  }

  async #read(): Promise<void> {
    const { kafka, topic, newGroupId } = this.#parts;
    const groupId = newGroupId();
    const consumer = kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      metadataMaxAge: 3_000,
      sessionTimeout: 10_000,
      maxWaitTimeInMs: 500,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => false },
    });
    const reader: Reader = { consumer, groupId, hasEnded: false };
    this.#reader = reader;
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      this.#parts.onBrokenOff?.(payload.error);
      reader.hasEnded = true;
      void this.#replaceEnded();
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, isRunning, isStale, resolveOffset, heartbeat }) => {
        for (const message of batch.messages) {
          // Broken off by a seek or the stop: what is left of it was not handed over.
          if (!isRunning() || isStale()) return;
          await this.#handOver(toIncomingRecord(topic, batch.partition, message));
          resolveOffset(message.offset);
          await heartbeat();
        }
        // Behind the last record there may be offsets that no record has any more.
        this.#advance(batch.partition, BigInt(batch.lastOffset()) + 1n);
      },
    });
    for (const [partition, offset] of this.#positions)
      consumer.seek({ topic, partition, offset: String(offset) });
  }

  /** A group without commits begins anew after each rebalance: what was handed over is not handed over again. */
  async #handOver(record: IncomingRecord): Promise<void> {
    if (record.offset < this.#positionOf(record.partition)) return;
    await this.#parts.onRecord(record);
    this.#advance(record.partition, record.offset + 1n);
  }

  async #replaceEnded(): Promise<void> {
    if (this.#isReplacing) return;
    this.#isReplacing = true;
    while (this.#reader?.hasEnded && !this.#stopping.signal.aborted) {
      await this.#close(this.#reader);
      await sleep(AGAIN_AFTER_MS);
      await this.#read().catch(() => {
        if (this.#reader) this.#reader.hasEnded = true;
      });
    }
    this.#isReplacing = false;
  }

  /** A consumer whose brokers are away may never come to the end of its disconnecting. */
  async #close({ consumer, groupId }: Reader): Promise<void> {
    const leave = async () => {
      await consumer.disconnect();
      await this.#admin.deleteGroups([groupId]);
    };
    await Promise.race([leave().catch(() => {}), sleep(DISCONNECT_MS, undefined, { ref: false })]);
  }

  /** Leaders move and brokers restart: whoever waits to catch up waits for that too. */
  async #fetchEnds(signal: AbortSignal) {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await this.#admin.fetchTopicOffsets(this.#parts.topic);
      } catch {
        await sleep(AGAIN_AFTER_MS, undefined, { signal });
      }
    }
  }

  #positionOf(partition: number): bigint {
    return this.#positions.get(partition) ?? 0n;
  }

  #advance(partition: number, offset: bigint): void {
    if (offset > this.#positionOf(partition)) this.#positions.set(partition, offset);
  }
}
