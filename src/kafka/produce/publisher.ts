import { setTimeout as sleep } from 'node:timers/promises';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { type TopicLimits, UNKNOWN_LIMITS } from '../admin/describe-topics.ts';
import type { Pending } from './partition-queue.ts';
import { type AttemptOutcome, toAttemptError } from './produce-batch.ts';
import type { ProducerSession } from './producer-session.ts';
import { SessionPools } from './session-pool.ts';
import { TopicHealth } from './topic-health.ts';
import { TopicLanes } from './topic-queues.ts';

export type PublisherParts = {
  /** Opens a client; the number counts the openings. */
  readonly openSession: (rotation: number) => ProducerSession;
  /** Bytes that may wait over all lanes. */
  readonly backlogBytes: number;
  /** How many clients the lanes share, each with connections of its own to every broker; unset means 1. */
  readonly sessions?: number;
  /** After it an attempt is in doubt; unset means 5 s. */
  readonly attemptMs?: number;
  /** What is larger than its topic takes is given up without sending it. */
  readonly limits?: TopicLimits;
  readonly observer: PublisherObserver;
};

export type PublisherObserver = {
  attempt(outcome: AttemptOutcome | 'confirmed'): void;
  confirmed(seconds: number): void;
  sessionOpened(): void;
  /** A topic's first failure after a success, in words, and null with its first success after failures. */
  troubleChanged(topic: string, trouble: string | null): void;
};

/** How often deadlines are looked at: one timer for all records, none for each. */
const SWEEP_MS = 50;
/** What a record that is alone in its batch weighs on the wire beside its key, value and headers, at the least. */
const RECORD_OVERHEAD = 68;
/** Between two tries to learn a topic's partitions. */
const COUNT_AGAIN_MS = 400;

/**
 * Publishes records: a lane per partition, one batch in flight in each, and a record is acknowledged by nothing but
 * the broker's answer for that very partition. Duplicates are possible, a false acknowledgement is not.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #sessions: SessionPools;
  readonly #topics = new Map<string, TopicLanes>();
  readonly #sweep: NodeJS.Timeout;
  #backlog = 0;
  readonly #health: TopicHealth;
  #closed = false;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#sessions = new SessionPools(parts.sessions ?? 1, {
      open: parts.openSession,
      ...(parts.attemptMs !== undefined && { attemptMs: parts.attemptMs }),
      onOpened: () => parts.observer.sessionOpened(),
      onOpenFailed: (error) => this.#noteAll(`no client can be made: ${(error as Error).message}`),
    });
    this.#health = new TopicHealth({
      topics: () => this.#topics.keys(),
      probe: (topic) => this.#probe(topic),
      isWaiting: (topic) => this.#topics.get(topic)?.isWaiting() ?? false,
      onChange: (topic, trouble) => parts.observer.troubleChanged(topic, trouble),
    });
    this.#sweep = setInterval(() => this.#expire(performance.now()), SWEEP_MS);
  }

  /**
   * Resolves when all in-sync replicas have the record. Records of one key and topic are written in the order of the
   * calls. Rejects with
   * - PUBLISH_DEADLINE after `deadlineMs`: the record may be there or not
   * - PUBLISH_BACKLOG_FULL: it was not sent
   * - PUBLISHER_CLOSED: the publisher was stopped before the brokers confirmed it
   * - RECORD_TOO_LARGE, PUBLISH_REFUSED: the brokers don't take it. Without a deadline (Infinity) a refusal is waited
   *   out too: somebody may mend it, and nothing that comes later may overtake
   */
  publish(record: OutgoingRecord, deadlineMs: number): Promise<Position> {
    const bytes =
      RECORD_OVERHEAD + record.key.length + (record.value?.length ?? 0) + headerBytes(record.headers);
    if (this.#closed) return Promise.reject(new HooklineError('PUBLISHER_CLOSED'));
    // A record that is alone may be larger than the whole bound: it must pass too.
    if (this.#backlog > 0 && this.#backlog + bytes > this.#parts.backlogBytes) {
      return Promise.reject(new HooklineError('PUBLISH_BACKLOG_FULL'));
    }
    this.#backlog += bytes;
    return new Promise((resolve, reject) => {
      const start = performance.now();
      const settle = () => {
        pending.settled = true;
        this.#backlog -= bytes;
      };
      const pending: Pending = {
        key: record.key,
        value: record.value,
        headers: record.headers,
        timestamp: record.timestamp ?? BigInt(Date.now()),
        partition: record.partition,
        bytes,
        deadline: start + deadlineMs,
        settled: false,
        confirm: (partition, offset) => {
          settle();
          this.#parts.observer.confirmed((performance.now() - start) / 1_000);
          resolve({ topic: record.topic, partition, offset });
        },
        reject: (error) => {
          settle();
          if (hasCode(error, 'PUBLISH_DEADLINE')) this.#health.noteDelay(record.topic);
          reject(error);
        },
      };
      this.#lanesOf(record.topic).push(pending);
    });
  }

  /**
   * Resolves when the partitions of these topics are known, which takes brokers that answer, and all connections to their
   * leaders were tried: no first event waits until one is made and secured.
   */
  async open(topics: readonly string[]): Promise<void> {
    await Promise.all(topics.map((topic) => this.#lanesOf(topic).ready()));
    // What can't connect now goes on trying with its first event, or with the next look at its topic.
    await this.#connect(topics).catch(() => {});
  }

  /** Gives up all that waits, as if its deadline had passed now: it may be written or not, and is sent no more. */
  dropWaiting(): void {
    this.#expire(Number.POSITIVE_INFINITY);
  }

  /** Bytes that wait for their confirmation. */
  get backlogBytes(): number {
    return this.#backlog;
  }

  /** Why the brokers can't be counted on now, in words, or null. */
  trouble(): string | null {
    return this.#health.trouble();
  }

  /** Rejects what still waits and cuts every connection. For a quiet end, publish nothing more and wait before. */
  async stop(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    this.#health.stop();
    this.#sessions.close();
  }

  #lanesOf(topic: string): TopicLanes {
    let lanes = this.#topics.get(topic);
    if (!lanes) {
      lanes = new TopicLanes({
        topic,
        sessionsForBatch: () => this.#sessions.leastBusy(),
        limits: this.#parts.limits ?? UNKNOWN_LIMITS,
        onAttempt: (outcome, why) => this.#onAttempt(topic, outcome, why),
        countPartitions: () => this.#countPartitions(topic),
      });
      this.#topics.set(topic, lanes);
    }
    return lanes;
  }

  #connect(topics: readonly string[]): Promise<void> {
    return this.#sessions.everywhere((session) => session.connect(topics));
  }

  /** A topic in trouble is well again when every session is: its lanes have one each. */
  #probe(topic: string): Promise<unknown> {
    if (this.#health.isTroubled(topic)) return this.#connect([topic]);
    return this.#sessions.attempt((session) => session.partitionsOf(topic));
  }

  async #countPartitions(topic: string): Promise<number> {
    while (!this.#closed) {
      try {
        const partitions = await this.#sessions.attempt((session) => session.partitionsOf(topic));
        this.#health.note(topic, null);
        return partitions;
      } catch (error) {
        this.#health.note(topic, toAttemptError(error).message);
        await sleep(COUNT_AGAIN_MS);
      }
    }
    throw new HooklineError('PUBLISHER_CLOSED');
  }

  #onAttempt(topic: string, outcome: AttemptOutcome | 'confirmed', why: string): void {
    this.#parts.observer.attempt(outcome);
    if (outcome === 'confirmed') this.#health.note(topic, null);
    if (outcome === 'doubt' || outcome === 'retry') this.#health.note(topic, why);
  }

  #noteAll(why: string): void {
    for (const topic of this.#topics.keys()) this.#health.note(topic, why);
  }

  #expire(now: number): void {
    for (const lanes of this.#topics.values()) lanes.expire(now);
  }
}

function headerBytes(headers: ReadonlyMap<Buffer, Buffer>): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + value.length + 2;
  return bytes;
}
