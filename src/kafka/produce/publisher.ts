import { HooklineError, hasCode, textWithCode } from '../../core/errors.ts';
import { type OutgoingRecord, type Position, wireBytes } from '../../core/record.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { type TopicLimits, UNKNOWN_LIMITS } from '../admin/topic-limits.ts';
import { type AttemptOutcome, toAttemptError } from './attempt-error.ts';
import type { Pending } from './pending.ts';
import type { ProducerSession } from './producer-session.ts';
import { SessionPools } from './session-pool.ts';
import { Waves } from './sharing.ts';
import { TopicHealth } from './topic-health.ts';
import { TopicQueues } from './topic-queues.ts';

export type PublisherDeps = {
  /** Opens a client; the number counts the openings. */
  readonly openSession: (rotation: number) => ProducerSession;
  /** Bytes that may wait over all partitions. */
  readonly backlogBytes: number;
  /** How many clients the partition queues share, each with connections of its own to every broker; unset means 1. */
  readonly sessions?: number;
  /** After it the outcome of an attempt counts as unknown; unset means 5 s. */
  readonly attemptMs?: number;
  /** What is larger than its topic takes is given up without sending it. */
  readonly limits?: TopicLimits;
  readonly clock: Clock;
  readonly observer: PublisherObserver;
};

export type PublisherObserver = {
  attempt(outcome: AttemptOutcome | 'confirmed'): void;
  confirmed(seconds: number): void;
  sessionOpened(): void;
  /** Why a topic's records are not confirmed, at the first failure after a success, and null with its first success after failures. */
  troubleChanged(topic: string, trouble: string | null): void;
};

/** How often deadlines are checked: one timer for all records, none for each. */
const SWEEP_MS = 50;
/** Between two tries to learn a topic's partitions. */
const COUNT_AGAIN_MS = 400;

/**
 * Publishes records: a queue per partition, one batch in flight in each, and a record is acknowledged by nothing but
 * the broker's answer for that very partition. Duplicates are possible, a false acknowledgement is not.
 */
export class Publisher {
  readonly #deps: PublisherDeps;
  readonly #sessions: SessionPools;
  readonly #topics = new Map<string, TopicQueues>();
  readonly #sweep: Timer;
  #backlog = 0;
  readonly #health: TopicHealth;
  readonly #waves: Waves;
  #closed = false;

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
    this.#waves = new Waves(deps.clock);
    this.#sessions = new SessionPools(deps.sessions ?? 1, {
      open: deps.openSession,
      clock: deps.clock,
      ...(deps.attemptMs !== undefined && { attemptMs: deps.attemptMs }),
      onOpened: () => deps.observer.sessionOpened(),
      onOpenFailed: (error) => this.#noteAll(`no client can be made: ${textWithCode(error)}`),
    });
    this.#health = new TopicHealth({
      clock: deps.clock,
      topics: () => this.#topics.keys(),
      probe: (topic) => this.#probe(topic),
      isWaiting: (topic) => this.#topics.get(topic)?.isWaiting() ?? false,
      onChange: (topic, trouble) => deps.observer.troubleChanged(topic, trouble),
    });
    this.#sweep = deps.clock.every(SWEEP_MS, () => this.#expire(deps.clock.now()));
  }

  /**
   * Resolves when all in-sync replicas have the record. Records of one key and topic are written in the order of the
   * calls. Rejects with
   * - PUBLISH_DEADLINE after `deadlineMs`: the record may be there or not
   * - PUBLISH_BACKLOG_FULL: it was not sent; never without a deadline
   * - PUBLISHER_CLOSED: the publisher was stopped before the brokers confirmed it
   * - RECORD_TOO_LARGE, PUBLISH_REFUSED: the brokers don't take it. Without a deadline (Infinity) a refusal is waited
   *   out too: it may be corrected, and nothing that comes later may overtake
   */
  publish(record: OutgoingRecord, deadlineMs: number): Promise<Position> {
    const bytes = wireBytes(record);
    if (this.#closed) return Promise.reject(new HooklineError('PUBLISHER_CLOSED'));
    const isFull = this.#backlog + bytes > this.#deps.backlogBytes;
    // A record that is alone may be larger than the whole bound: it must pass too. So must one that waits as long as it takes:
    // whoever publishes those has a bound of their own, and a refused one would come behind later ones of its key.
    if (this.#backlog > 0 && isFull && Number.isFinite(deadlineMs)) {
      return Promise.reject(new HooklineError('PUBLISH_BACKLOG_FULL'));
    }
    this.#backlog += bytes;
    const { clock, observer } = this.#deps;
    return new Promise((resolve, reject) => {
      const start = clock.now();
      const settle = () => {
        pending.settled = true;
        this.#backlog -= bytes;
      };
      const pending: Pending = {
        key: record.key,
        value: record.value,
        headers: record.headers,
        timestamp: record.timestamp ?? BigInt(clock.wall()),
        partition: record.partition,
        bytes,
        deadline: start + deadlineMs,
        settled: false,
        confirm: (partition, offset) => {
          settle();
          observer.confirmed((clock.now() - start) / 1_000);
          resolve({ topic: record.topic, partition, offset });
        },
        reject: (error) => {
          settle();
          if (!hasCode(error, 'PUBLISH_DEADLINE')) return reject(error);
          this.#health.noteDelay(record.topic);
          reject(new HooklineError(error.code, error.detail, { topic: record.topic }));
        },
      };
      this.#queuesOf(record.topic).push(pending);
    });
  }

  /**
   * Resolves when the partitions of these topics are known, which takes brokers that answer, and all connections to their
   * leaders were tried: no first event waits until one is made and secured.
   */
  async open(topics: readonly string[]): Promise<void> {
    await Promise.all(topics.map((topic) => this.#queuesOf(topic).ready()));
    // What can't connect now goes on trying with its first event, or with the next check of its topic.
    await this.#connect(topics).catch(() => {});
  }

  /**
   * Rejects everything that waits and has a deadline, as if that had passed now: it may be written or not, and is sent no more.
   * What waits as long as it takes stays, in its order.
   */
  dropWaiting(): void {
    this.#expire(Number.MAX_VALUE);
  }

  /**
   * `dropWaiting`, and nothing of what was sent is written any more unless a broker has it already: the connections are cut.
   * For a process that has lost the right to write, while another goes on.
   */
  abandon(): void {
    this.dropWaiting();
    this.#sessions.cut();
  }

  /** Bytes that wait for their confirmation. */
  get backlogBytes(): number {
    return this.#backlog;
  }

  /** Why the brokers do not confirm records now, or null. */
  trouble(): string | null {
    return this.#health.trouble();
  }

  /** A missed deadline with why the brokers do not confirm records of its topic; any other error as it is. */
  explain(error: unknown): unknown {
    const trouble = hasCode(error, 'PUBLISH_DEADLINE') ? this.#health.trouble(error.topic) : null;
    return trouble === null ? error : new HooklineError('PUBLISH_DEADLINE', trouble, { cause: error });
  }

  /** Rejects what still waits and destroys every connection. For an orderly end, publish nothing more and wait before. */
  async stop(): Promise<void> {
    this.#closed = true;
    this.#sweep.cancel();
    this.#health.stop();
    this.#sessions.close();
  }

  #queuesOf(topic: string): TopicQueues {
    let queues = this.#topics.get(topic);
    if (!queues) {
      queues = new TopicQueues({
        topic,
        sessionsFor: ({ isAlone }) => (isAlone ? this.#sessions.leastBusy() : this.#sessions.ofThisTurn()),
        limits: this.#deps.limits ?? UNKNOWN_LIMITS,
        waves: this.#waves,
        clock: this.#deps.clock,
        onAttempt: (outcome, why) => this.#onAttempt(topic, outcome, why),
        countPartitions: () => this.#countPartitions(topic),
      });
      this.#topics.set(topic, queues);
    }
    return queues;
  }

  #connect(topics: readonly string[]): Promise<void> {
    return this.#sessions.everywhere((session) => session.connect(topics));
  }

  /** A topic in trouble takes records again when every session can connect: its queues use them all. */
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
        await this.#deps.clock.sleep(COUNT_AGAIN_MS);
      }
    }
    throw new HooklineError('PUBLISHER_CLOSED');
  }

  #onAttempt(topic: string, outcome: AttemptOutcome | 'confirmed', why: string): void {
    this.#deps.observer.attempt(outcome);
    if (outcome === 'confirmed') this.#health.note(topic, null);
    if (outcome === 'unknown' || outcome === 'retry') this.#health.note(topic, why);
  }

  #noteAll(why: string): void {
    for (const topic of this.#topics.keys()) this.#health.note(topic, why);
  }

  #expire(now: number): void {
    if (this.#backlog === 0) return;
    for (const queues of this.#topics.values()) queues.expire(now);
  }
}
