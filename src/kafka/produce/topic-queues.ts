import { HooklineError } from '../../core/errors.ts';
import { Lane, type LaneParts, type Pending } from './partition-queue.ts';
import { partitionOf } from './partitioner.ts';

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
