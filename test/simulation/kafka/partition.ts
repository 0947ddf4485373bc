import type { Timer } from '../../../src/runtime/clock.ts';
import { recordCount } from './record-batch.ts';

/** Kafka's error codes, as far as the model answers them. */
export const CODES = {
  NONE: 0,
  UNKNOWN_SERVER_ERROR: -1,
  CORRUPT_MESSAGE: 2,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  NOT_LEADER_OR_FOLLOWER: 6,
  REQUEST_TIMED_OUT: 7,
  MESSAGE_TOO_LARGE: 10,
  NOT_ENOUGH_REPLICAS: 19,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 20,
  TOPIC_AUTHORIZATION_FAILED: 29,
  KAFKA_STORAGE_ERROR: 56,
  THROTTLING_QUOTA_EXCEEDED: 89,
} as const;

/** A batch in a replica's log. */
export type Entry = {
  readonly batch: Buffer;
  readonly base: number;
  readonly end: number;
  readonly epoch: number;
  /** Counts all appends of the cluster: which of two was first, whatever their partition. */
  readonly order: number;
};

export type ProduceAnswer = { readonly code: number; readonly base: number };

/** A request that waits for all in-sync replicas. */
type Waiter = {
  readonly broker: number;
  readonly entry: Entry;
  readonly answer: (answer: ProduceAnswer) => void;
  timeout: Timer | undefined;
};

/** One partition as the controller and the replicas have it. It knows no time: the cluster says when something happens. */
export class Partition {
  readonly topic: string;
  readonly index: number;
  /** As the trace names it. */
  readonly name: string;
  readonly replicas: readonly number[];
  /** -1: none. */
  leader: number;
  epoch = 0;
  readonly isr: Set<number>;
  readonly logs = new Map<number, Entry[]>();
  readonly #minIsr: number;
  #waiters: Waiter[] = [];
  /** By broker, how far it knows that all in-sync replicas have the log: consumers read so far. */
  readonly #watermarks = new Map<number, number>();
  readonly #onAdvance = new Set<() => void>();

  constructor(topic: string, index: number, options: { replicas: readonly number[]; minIsr: number }) {
    this.topic = topic;
    this.index = index;
    this.name = `${topic}[${index}]`;
    this.replicas = options.replicas;
    this.leader = options.replicas[index % options.replicas.length] ?? -1;
    this.isr = new Set(options.replicas);
    this.#minIsr = options.minIsr;
    for (const replica of options.replicas) this.logs.set(replica, []);
  }

  log(broker: number): Entry[] {
    return this.logs.get(broker) ?? [];
  }

  get isWaiting(): boolean {
    return this.#waiters.length > 0;
  }

  /** What a consumer finds at the end, when all replicas are in sync again. */
  get kept(): readonly Entry[] {
    return this.log(this.leader);
  }

  /**
   * The broker, which takes itself for the leader of `epoch`, appends a batch.
   * @returns the waiting request, or why it is refused
   */
  append(
    broker: number,
    batch: Buffer,
    { epoch, order, acks }: { readonly epoch: number; readonly order: number; readonly acks: number },
    answer: Waiter['answer'],
  ): Waiter | number {
    if (acks === -1 && this.leader === broker && this.isr.size < this.#minIsr)
      return CODES.NOT_ENOUGH_REPLICAS;
    const log = this.log(broker);
    const base = log.at(-1)?.end ?? 0;
    const entry = { batch, base, end: base + recordCount(batch), epoch, order };
    log.push(entry);
    const waiter: Waiter = { broker, entry, answer, timeout: undefined };
    if (acks === -1) this.#waiters.push(waiter);
    return waiter;
  }

  /** The offset behind the last record that consumers may read, as a broker knows it. */
  watermark(broker: number): number {
    return this.#watermarks.get(broker) ?? 0;
  }

  /** Calls `listener` whenever consumers may read more, until it is taken off. @returns what takes it off */
  onAdvance(listener: () => void): () => void {
    this.#onAdvance.add(listener);
    return () => void this.#onAdvance.delete(listener);
  }

  /** The leader has heard how far its followers are. */
  advance(): void {
    if (this.leader < 0) return;
    const leaders = this.log(this.leader);
    let shared = leaders.length;
    for (const replica of this.isr) shared = Math.min(shared, this.#shares(leaders, this.log(replica)));
    const end = leaders[shared - 1]?.end ?? 0;
    if (end === this.watermark(this.leader)) return;
    this.#watermarks.set(this.leader, end);
    for (const listener of [...this.#onAdvance]) listener();
  }

  /** How many entries of the leader's log a replica has. */
  #shares(leaders: readonly Entry[], log: readonly Entry[]): number {
    let shared = Math.min(leaders.length, log.length);
    // The same entry at the same place means the same before it.
    while (shared > 0 && leaders[shared - 1] !== log[shared - 1]) shared--;
    return shared;
  }

  /** A follower takes over what the leader has, and drops what that one has not. @returns whether anything changed */
  catchUp(follower: number): boolean {
    if (this.leader < 0 || this.leader === follower) return false;
    const own = this.log(follower);
    const leaders = this.log(this.leader);
    // The same entry at the same offset means the same before it.
    let same = own.length > 0 && own.at(-1) === leaders[own.length - 1] ? own.length : 0;
    while (same < own.length && own[same] === leaders[same]) same++;
    if (same === own.length && same === leaders.length && this.isr.has(follower)) return false;
    own.splice(same, own.length - same, ...leaders.slice(same));
    this.isr.add(follower);
    return true;
  }

  /** Answers those of the leader's requests that all in-sync replicas have. */
  complete(): void {
    this.advance();
    if (this.#waiters.length === 0) return;
    const logs = [...this.isr].map((replica) => this.log(replica));
    // What is waited for is near the end.
    const isEverywhere = ({ entry }: Waiter) => logs.every((log) => log.lastIndexOf(entry) >= 0);
    this.#answer(
      (waiter) => waiter.broker === this.leader && isEverywhere(waiter),
      this.isr.size < this.#minIsr ? CODES.NOT_ENOUGH_REPLICAS_AFTER_APPEND : CODES.NONE,
    );
  }

  /** The broker has learnt that it leads no longer. */
  resign(broker: number): void {
    this.#answer((waiter) => waiter.broker === broker, CODES.NOT_LEADER_OR_FOLLOWER);
  }

  giveUp(waiter: Waiter, code: number): void {
    this.#answer((one) => one === waiter, code);
  }

  /** The broker's process has died: nobody answers. */
  forget(broker: number): void {
    this.#waiters = this.#waiters.filter((waiter) => waiter.broker !== broker);
  }

  /** The controller takes a broker for dead. The last in-sync replica stays one: no other may lead. */
  fence(broker: number, isAlive: (broker: number) => boolean): void {
    if (this.isr.size > 1) this.isr.delete(broker);
    if (this.leader === broker) this.elect(isAlive);
  }

  /** Another in-sync replica leads, if there is one. */
  elect(isAlive: (broker: number) => boolean, preferred?: number): void {
    const able = this.replicas.filter((replica) => this.isr.has(replica) && isAlive(replica));
    const next = preferred !== undefined && able.includes(preferred) ? preferred : able[0];
    if (next === this.leader) return;
    this.leader = next ?? -1;
    this.epoch++;
  }

  #answer(which: (waiter: Waiter) => boolean, code: number): void {
    if (this.#waiters.length === 0) return;
    const found = this.#waiters.filter(which);
    if (found.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !found.includes(waiter));
    for (const { entry, answer, timeout } of found) {
      timeout?.cancel();
      answer({ code, base: code === CODES.NONE ? entry.base : -1 });
    }
  }
}
