import { PartitionQueue, type PartitionQueueDeps } from './partition-queue.ts';
import { type Pending, rejectLate } from './pending.ts';

export type TopicQueuesDeps = Omit<PartitionQueueDeps, 'partition' | 'partitions' | 'onReplan'> & {
  /** The topic's number of partitions now, however long it takes to learn it. */
  readonly countPartitions: () => Promise<number>;
};

/**
 * Before the partitions are counted again. Each session knows them for itself, for up to two seconds: where two do not agree, one counts
 * what the other contradicts, without asking a broker, and so again and again.
 */
const COUNT_AGAIN_MS = 100;

/** The partition queues of one topic; a key always takes the same one. */
export class TopicQueues {
  readonly #deps: TopicQueuesDeps;
  #queues: PartitionQueue[] = [];
  /** Records that arrive while the queues are planned, in order. */
  #waiting: Pending[] = [];
  /** What halted queues have left, while others still end their batch: their time passes, too. */
  #left: Pending[] = [];
  #planning: Promise<void> | undefined;

  constructor(deps: TopicQueuesDeps) {
    this.#deps = deps;
    this.#startPlan();
  }

  push(record: Pending): void {
    const partition = record.partition ?? partitionOf(record.key, this.#queues.length);
    const queue = this.#planning ? undefined : this.#queues[partition];
    if (queue) queue.push(record);
    else this.#waiting.push(record);
  }

  /** Resolves when the topic's partitions are known. */
  async ready(): Promise<void> {
    await this.#planning;
  }

  /** Whether anything waits for its confirmation. */
  isWaiting(): boolean {
    return (
      this.#waiting.length > 0 || this.#left.length > 0 || this.#queues.some((queue) => queue.isWaiting())
    );
  }

  expire(now: number): void {
    for (const queue of this.#queues) queue.expire(now);
    const isWanted = (record: Pending) => {
      if (record.deadline <= now) rejectLate(record);
      return !record.settled;
    };
    this.#left = this.#left.filter(isWanted);
    this.#waiting = this.#waiting.filter(isWanted);
  }

  #startPlan(): void {
    this.#planning ??= this.#plan();
    // `ready` passes the failure on; without anyone waiting there it is in the records that were rejected.
    this.#planning.catch((error) => {
      for (const record of this.#waiting.splice(0)) if (!record.settled) record.reject(error);
    });
  }

  /**
   * Learns the partitions and makes new queues. Every queue ends its batch first, so that a key which moves to
   * another partition is not written there before its older records are settled in the old one.
   */
  async #plan(): Promise<void> {
    await Promise.all(
      this.#queues.map(async (queue) => {
        const left = await queue.halt();
        this.#left = this.#left.concat(left);
      }),
    );
    // A key's records all come out of one queue, and are older than those that arrived since.
    this.#waiting = [...this.#left.splice(0), ...this.#waiting];
    if (this.#queues.length > 0) await this.#deps.clock.sleep(COUNT_AGAIN_MS);
    const partitions = await this.#deps.countPartitions();
    const onReplan = () => this.#startPlan();
    this.#queues = Array.from(
      { length: partitions },
      (_, partition) => new PartitionQueue({ ...this.#deps, partition, partitions, onReplan }),
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
