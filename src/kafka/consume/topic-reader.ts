import { setTimeout as sleep } from 'node:timers/promises';
import type kafkajs from 'kafkajs';
import type { IncomingRecord } from '../../core/record.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { toIncomingRecord } from './incoming-record.ts';

/** Offsets of one partition: from the first to the one before `to`. */
export type OffsetRange = { readonly partition: number; readonly from: bigint; readonly to: bigint };

export type TopicReaderParts = {
  readonly kafka: KafkaClient;
  readonly topic: string;
  /** A consumer group that nobody else has: kafkajs has no reading without one. */
  readonly groupId: string;
};

type Reading = {
  /** By partition, what is still to come. */
  readonly open: Map<number, { next: bigint; readonly to: bigint }>;
  readonly onRecord: (record: IncomingRecord) => void;
  readonly done: PromiseWithResolvers<void>;
  movedAt: number;
};

/** Without a new record for so long the partitions' beginnings are looked at: retention may have taken the records. */
const LOOK_AFTER_MS = 2_000;
const SILENT_MS = 30_000;
const DISCONNECT_MS = 3_000;

/** Opens a reader of one topic. Rejects where the brokers don't answer. */
export async function openTopicReader(parts: TopicReaderParts): Promise<TopicReader> {
  const reader = new TopicReader(parts);
  try {
    await reader.start();
  } catch (error) {
    await reader.stop();
    throw error;
  }
  return reader;
}

/** Reads chosen ranges of a topic, one reading after the other; between them it rests. */
export class TopicReader {
  readonly #parts: TopicReaderParts;
  readonly #admin: ReturnType<KafkaClient['admin']>;
  readonly #consumer: kafkajs.Consumer;
  #reading: Reading | undefined;
  #crash: Error | undefined;

  constructor(parts: TopicReaderParts) {
    this.#parts = parts;
    this.#admin = parts.kafka.admin();
    this.#consumer = parts.kafka.consumer({
      groupId: parts.groupId,
      allowAutoTopicCreation: false,
      metadataMaxAge: 3_000,
      sessionTimeout: 10_000,
      // A reading begins when the rest before it ends: the rest is this long at most.
      maxWaitTimeInMs: 100,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => false },
    });
  }

  async start(): Promise<void> {
    const { topic } = this.#parts;
    const consumer = this.#consumer;
    await Promise.all([this.#admin.connect(), consumer.connect()]);
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      this.#crash = payload.error;
      this.#reading?.done.reject(payload.error);
    });
    // A batch that holds nothing but a transaction's own records never reaches the handler.
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize === 0) this.#advance(payload.partition, BigInt(payload.lastOffset) + 1n);
    });
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async (payload) => this.#take(payload),
    });
    consumer.pause([{ topic }]);
  }

  /** What the topic holds now. */
  async span(): Promise<OffsetRange[]> {
    const ends = await this.#admin.fetchTopicOffsets(this.#parts.topic);
    return ends.map(({ partition, low, high }) => ({ partition, from: BigInt(low), to: BigInt(high) }));
  }

  /** Hands over every record of these ranges that is still there, each once, each partition in order. */
  async read(ranges: readonly OffsetRange[], onRecord: Reading['onRecord']): Promise<void> {
    if (this.#crash) throw this.#crash;
    const wanted = ranges.filter(({ from, to }) => from < to);
    if (wanted.length === 0) return;
    const open = new Map(wanted.map(({ partition, from, to }) => [partition, { next: from, to }]));
    const reading = { open, onRecord, done: Promise.withResolvers<void>(), movedAt: performance.now() };
    this.#reading = reading;
    const { topic } = this.#parts;
    for (const { partition, from } of wanted) this.#consumer.seek({ topic, partition, offset: String(from) });
    this.#consumer.resume([{ topic, partitions: wanted.map(({ partition }) => partition) }]);
    const watch = setInterval(() => void this.#look(reading), LOOK_AFTER_MS);
    try {
      await reading.done.promise;
    } finally {
      clearInterval(watch);
      this.#reading = undefined;
    }
  }

  /** Leaves and deletes the group. A consumer whose brokers are away may never come to the end of its leaving. */
  async stop(): Promise<void> {
    const leave = async () => {
      await this.#consumer.disconnect();
      await this.#admin.deleteGroups([this.#parts.groupId]);
    };
    await Promise.race([leave().catch(() => {}), sleep(DISCONNECT_MS, undefined, { ref: false })]);
    await this.#admin.disconnect();
  }

  /** Nothing may escape from here: it would end the consumer. Batches from before a seek are none of the reading's. */
  async #take({ batch, isStale, resolveOffset, heartbeat }: kafkajs.EachBatchPayload): Promise<void> {
    const { topic, partition } = batch;
    try {
      for (const message of batch.messages) {
        const range = this.#reading?.open.get(partition);
        if (!range || isStale()) return;
        const offset = BigInt(message.offset);
        if (offset >= range.next && offset < range.to)
          this.#reading?.onRecord(toIncomingRecord(topic, partition, message));
        resolveOffset(message.offset);
        this.#advance(partition, offset + 1n);
      }
    } catch (error) {
      this.#reading?.done.reject(error);
    }
    await heartbeat().catch(() => {});
  }

  #advance(partition: number, next: bigint): void {
    const reading = this.#reading;
    const range = reading?.open.get(partition);
    if (!reading || !range || next <= range.next) return;
    range.next = next;
    reading.movedAt = performance.now();
    if (next >= range.to) this.#close(reading, partition);
  }

  #close(reading: Reading, partition: number): void {
    reading.open.delete(partition);
    this.#consumer.pause([{ topic: this.#parts.topic, partitions: [partition] }]);
    if (reading.open.size === 0) reading.done.resolve();
  }

  /** Ranges whose records are gone end; where nothing comes for long the reading fails. */
  async #look(reading: Reading): Promise<void> {
    const silent = performance.now() - reading.movedAt;
    if (silent < LOOK_AFTER_MS || reading !== this.#reading) return;
    if (silent > SILENT_MS) reading.done.reject(new Error(`no record came for ${SILENT_MS / 1_000} s`));
    for (const { partition, from } of await this.span().catch(() => [])) {
      const range = reading.open.get(partition);
      if (range && reading === this.#reading && from >= range.to) this.#close(reading, partition);
    }
  }
}
