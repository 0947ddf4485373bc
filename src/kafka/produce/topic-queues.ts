import { HooklineError } from '../../core/errors.ts';
import { Lane, type LaneParts, type Pending } from './partition-queue.ts';

export type TopicLanesParts = Omit<LaneParts, 'partition' | 'partitions' | 'onReplan'> & {
  /** The topic's number of partitions now, however long it takes to learn it. */
  readonly countPartitions: () => Promise<number>;
};

/** The lanes of one topic, one per partition; a key always takes the same one. */
export class TopicLanes {
  readonly #parts: TopicLanesParts;
  #lanes: Lane[] = [];
  /** Records that arrive while the lanes are planned, in order. */
  #waiting: Pending[] = [];
  #planning: Promise<void> | undefined;

  constructor(parts: TopicLanesParts) {
    this.#parts = parts;
    this.#startPlan();
  }

  push(record: Pending): void {
    const partition = record.partition ?? partitionOf(record.key, this.#lanes.length);
    const lane = this.#planning ? undefined : this.#lanes[partition];
    if (lane) lane.push(record);
    else this.#waiting.push(record);
  }

  /** Resolves when the topic's partitions are known. */
  async ready(): Promise<void> {
    await this.#planning;
  }

  /** Whether anything waits for its confirmation. */
  isWaiting(): boolean {
    return this.#waiting.length > 0 || this.#lanes.some((lane) => lane.isWaiting());
  }

  expire(now: number): void {
    for (const lane of this.#lanes) lane.expire(now);
    this.#waiting = this.#waiting.filter((record) => {
      if (record.deadline <= now && !record.settled) record.reject(new HooklineError('PUBLISH_DEADLINE'));
      return !record.settled;
    });
  }

  #startPlan(): void {
    this.#planning ??= this.#plan();
    // `ready` passes the failure on; without anyone waiting there it is in the records that were rejected.
    this.#planning.catch((error) => {
      for (const record of this.#waiting.splice(0)) if (!record.settled) record.reject(error);
    });
  }

  /**
   * Learns the partitions and makes the lanes anew. Every lane ends its batch first, so that a key which moves to
   * another partition is not written there before its older records are settled in the old one.
   */
  async #plan(): Promise<void> {
    const left = await Promise.all(this.#lanes.map((lane) => lane.halt()));
    // A key's records all come out of one lane, and are older than those that arrived since.
    this.#waiting = [...left.flat(), ...this.#waiting];
    const partitions = await this.#parts.countPartitions();
    const onReplan = () => this.#startPlan();
    this.#lanes = Array.from(
      { length: partitions },
      (_, partition) => new Lane({ ...this.#parts, partition, partitions, onReplan }),
    );
    this.#planning = undefined;
    for (const record of this.#waiting.splice(0)) if (!record.settled) this.push(record);
  }
}

/** The hash of Kafka's own clients (murmur2, seed 0x9747b28c), as a signed 32-bit number. */
export function murmur2(bytes: Uint8Array): number {
  const m = 0x5bd1e995;
  const length = bytes.length;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let hash = 0x9747b28c ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let word = Math.imul(view.getInt32(at, true), m);
    word ^= word >>> 24;
    hash = Math.imul(hash, m) ^ Math.imul(word, m);
  }
  if (at < length) {
    let tail = 0;
    for (let n = length - 1; n >= at; n--) tail = (tail << 8) | view.getUint8(n);
    hash = Math.imul(hash ^ tail, m);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, m);
  return hash ^ (hash >>> 15);
}

/** The partition that Kafka's own clients choose for this key, so that others may write to the same topic. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
