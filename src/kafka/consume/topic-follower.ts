import type kafkajs from 'kafkajs';
import type { IncomingRecord } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { GroupConsumer } from './consumer.ts';

type TopicDeps = {
  readonly kafka: KafkaClient;
  readonly topic: string;
  /** Makes the name of a consumer group that nobody else has: kafkajs does not read without one. */
  readonly newGroupId: () => string;
  readonly clock: Clock;
};

export type FollowerDeps = TopicDeps & {
  /** One record after the other, each once. A rejected one comes again. */
  readonly onRecord: (record: IncomingRecord) => void | Promise<void>;
  /** Where it begins, unless at the oldest record: with what comes after the start, or with what was written since then (ms). */
  readonly from?: 'now' | number;
  /** The reading was interrupted, and starts again: repeatedly where the topic may not be read. */
  readonly onBrokenOff?: (error: Error) => void;
};

/** Offsets of one partition: from the first to the one before `to`. */
export type OffsetRange = { readonly partition: number; readonly from: bigint; readonly to: bigint };

const CAUGHT_UP_POLL_MS = 20;
/** 0.4 to 0.5 s: before a reading that was interrupted starts again, and before the brokers are asked again. */
const AGAIN: Backoff = { firstMs: 500, factor: 1, maxMs: 500 };

/** Starts to read a whole topic, and goes on with what is written to it. Rejects where the brokers don't answer. */
export const followTopic = (deps: FollowerDeps): Promise<TopicFollower> => started(new TopicFollower(deps));

/** Opens a topic for readings of chosen ranges. Rejects where the brokers don't answer. */
export const openRanges = (deps: TopicDeps): Promise<RangeReader> => started(new RangeReader(deps));

async function started<R extends { start(): Promise<void>; stop(): Promise<void> }>(reader: R): Promise<R> {
  await reader.start().catch(async (error) => {
    await reader.stop();
    throw error;
  });
  return reader;
}

/**
 * Reads one topic, in a consumer group of its own. When the consumer ends with an error another takes its place, in a
 * fresh group: in the old one it would have to wait until the cluster has forgotten its predecessor.
 */
export class TopicFollower {
  readonly #deps: FollowerDeps;
  readonly #clock: Clock;
  readonly #admin: kafkajs.Admin;
  /** By partition, the offset behind the last record that was handed over. */
  readonly #positions = new Map<number, bigint>();
  readonly #stopping = new AbortController();
  #consumer: GroupConsumer | undefined;
  #isReplacing = false;

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#admin = deps.kafka.admin();
  }

  async start(): Promise<void> {
    await this.#admin.connect();
    for (const { partition, offset } of await this.#begin()) this.#positions.set(partition, BigInt(offset));
    await this.#read();
  }

  /** Resolves when everything that the topic held at the time of the call has been handed over. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const ends = await this.#fetchEnds(signal);
    const isBehind = () =>
      ends.some(({ partition, high, low }) => high !== low && this.#positionOf(partition) < BigInt(high));
    while (isBehind()) await this.#clock.sleep(CAUGHT_UP_POLL_MS, { signal });
  }

  partitions = async (signal: AbortSignal): Promise<number[]> =>
    (await this.#fetchEnds(signal)).map(({ partition }) => partition);

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#consumer?.leave(this.#admin);
    await this.#admin.disconnect();
  }

  async #begin(): Promise<{ partition: number; offset: string }[]> {
    const { topic, from } = this.#deps;
    if (from === undefined) return [];
    return from === 'now'
      ? this.#admin.fetchTopicOffsets(topic)
      : this.#admin.fetchTopicOffsetsByTimestamp(topic, from);
  }

  async #read(): Promise<void> {
    const { kafka, topic, newGroupId, onBrokenOff } = this.#deps;
    const onEnd = (error: Error) => {
      onBrokenOff?.(error);
      void this.#replaceEnded();
    };
    const consumer = new GroupConsumer({ kafka, groupId: newGroupId(), clock: this.#clock, onEnd });
    this.#consumer = consumer;
    const onAdvance = (partition: number, next: bigint) => this.#advance(partition, next);
    await consumer.run({ topics: [topic], onRecord: (record) => this.#handOver(record), onAdvance });
    for (const [partition, offset] of this.#positions)
      consumer.client.seek({ topic, partition, offset: String(offset) });
  }

  /** A group without commits starts again after each rebalance: what was handed over is not handed over again. */
  async #handOver(record: IncomingRecord): Promise<boolean> {
    if (record.offset >= this.#positionOf(record.partition)) await this.#deps.onRecord(record);
    this.#advance(record.partition, record.offset + 1n);
    return true;
  }

  async #replaceEnded(): Promise<void> {
    if (this.#isReplacing) return;
    this.#isReplacing = true;
    const { signal } = this.#stopping;
    while (this.#consumer?.hasEnded && !signal.aborted) {
      await this.#consumer.leave(this.#admin);
      await this.#clock.sleep(AGAIN.firstMs, { signal }).catch(() => {});
      if (!signal.aborted) await this.#read().catch(() => {});
    }
    this.#isReplacing = false;
  }

  /** Leaders move and brokers restart: a reader that catches up waits for that too. */
  #fetchEnds(signal: AbortSignal) {
    const options = { signal, backoff: AGAIN, clock: this.#clock, again: () => true, onFailure: () => {} };
    return retry(() => this.#admin.fetchTopicOffsets(this.#deps.topic), options);
  }

  #positionOf = (partition: number): bigint => this.#positions.get(partition) ?? 0n;

  #advance(partition: number, offset: bigint): void {
    if (offset > this.#positionOf(partition)) this.#positions.set(partition, offset);
  }
}

type RangeReading = {
  /** What is still to come, by partition. */
  readonly open: Map<number, { next: bigint; readonly to: bigint }>;
  readonly onRecord: (record: IncomingRecord) => void;
  readonly done: PromiseWithResolvers<void>;
  movedAt: number;
};

/** Without a new record for so long the partitions' beginnings are checked: retention may have taken the records. */
const CHECK_AFTER_MS = 2_000;
const SILENT_MS = 30_000;

/** Reads chosen ranges of a topic, one reading after the other; between them it rests. */
export class RangeReader {
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #admin: kafkajs.Admin;
  readonly #consumer: GroupConsumer;
  #reading: RangeReading | undefined;
  #failure: Error | undefined;

  constructor({ kafka, topic, newGroupId, clock }: TopicDeps) {
    this.#topic = topic;
    this.#clock = clock;
    this.#admin = kafka.admin();
    const onEnd = (error: Error) => {
      this.#failure = error;
      this.#reading?.done.reject(error);
    };
    // A reading begins when the fetch before it ends, which waits for so long at most.
    this.#consumer = new GroupConsumer({ kafka, groupId: newGroupId(), clock, maxWaitMs: 100, onEnd });
  }

  async start(): Promise<void> {
    await this.#admin.connect();
    const onAdvance = (partition: number, next: bigint) => this.#advance(partition, next);
    await this.#consumer.run({ topics: [this.#topic], onRecord: (record) => this.#take(record), onAdvance });
    if (this.#failure) throw this.#failure;
    this.#consumer.client.pause([{ topic: this.#topic }]);
  }

  /** What the topic holds now. */
  async span(): Promise<OffsetRange[]> {
    const ends = await this.#admin.fetchTopicOffsets(this.#topic);
    return ends.map(({ partition, low, high }) => ({ partition, from: BigInt(low), to: BigInt(high) }));
  }

  /** Hands over every record of these ranges that is still there, each once, each partition in order. */
  async read(ranges: readonly OffsetRange[], onRecord: RangeReading['onRecord']): Promise<void> {
    if (this.#failure) throw this.#failure;
    const wanted = ranges.filter(({ from, to }) => from < to);
    const open = new Map(wanted.map(({ partition, from, to }) => [partition, { next: from, to }]));
    if (open.size === 0) return;
    const reading = { open, onRecord, done: Promise.withResolvers<void>(), movedAt: this.#clock.now() };
    this.#reading = reading;
    const { client } = this.#consumer;
    for (const { partition, from } of wanted)
      client.seek({ topic: this.#topic, partition, offset: String(from) });
    client.resume([{ topic: this.#topic, partitions: [...open.keys()] }]);
    const watch = this.#clock.every(CHECK_AFTER_MS, () => void this.#check(reading));
    try {
      await reading.done.promise;
    } finally {
      watch.cancel();
      this.#reading = undefined;
    }
  }

  async stop(): Promise<void> {
    await this.#consumer.leave(this.#admin);
    await this.#admin.disconnect();
  }

  /** Nothing may escape from here: it would end the consumer. Batches from before a seek do not belong to the reading. */
  #take(record: IncomingRecord): boolean {
    const range = this.#reading?.open.get(record.partition);
    if (!range) return false;
    try {
      if (record.offset >= range.next && record.offset < range.to) this.#reading?.onRecord(record);
    } catch (error) {
      this.#reading?.done.reject(error);
      return false;
    }
    this.#advance(record.partition, record.offset + 1n);
    return true;
  }

  #advance(partition: number, next: bigint): void {
    const reading = this.#reading;
    const range = reading?.open.get(partition);
    if (!reading || !range || next <= range.next) return;
    range.next = next;
    reading.movedAt = this.#clock.now();
    if (next < range.to) return;
    reading.open.delete(partition);
    this.#consumer.client.pause([{ topic: this.#topic, partitions: [partition] }]);
    if (reading.open.size === 0) reading.done.resolve();
  }

  /** Ranges whose records are gone end; where nothing comes for long the reading fails. */
  async #check(reading: RangeReading): Promise<void> {
    const silent = this.#clock.now() - reading.movedAt;
    if (silent < CHECK_AFTER_MS || reading !== this.#reading) return;
    if (silent > SILENT_MS) reading.done.reject(new Error(`no record came for ${SILENT_MS / 1_000} s`));
    for (const { partition, from } of await this.span().catch(() => []))
      if (reading === this.#reading) this.#advance(partition, from);
  }
}
