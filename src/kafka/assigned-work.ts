import type kafkajs from 'kafkajs';
import type { IncomingRecord } from './incoming-record.ts';
import { PartitionWork } from './partition-work.ts';
import { WorkLanes } from './work-lanes.ts';

export type AssignedWorkParts = {
  readonly consumer: kafkajs.Consumer;
  readonly sessionTimeoutMs: number;
  readonly handle: (record: IncomingRecord, signal: AbortSignal) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
};

type Place = { readonly topic: string; readonly partition: number };
type Held = Place & { readonly work: PartitionWork };

/** Records that are handled at the same time, over all partitions. */
const MOST_AT_ONCE = 32;
const LEASE_LOOK_MS = 500;

/** What is in work of the partitions that the group has given to this consumer, for as long as they are its own. */
export class AssignedWork {
  readonly #parts: AssignedWorkParts;
  readonly #held = new Map<string, Held>();
  readonly #lanes = new WorkLanes(MOST_AT_ONCE);
  readonly #leaseWatch: NodeJS.Timeout;
  /** When the group last said that this consumer is in it. */
  #memberAt = performance.now();

  constructor(parts: AssignedWorkParts) {
    this.#parts = parts;
    const { consumer } = parts;
    consumer.on(consumer.events.HEARTBEAT, () => this.#confirmed());
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#confirmed();
      this.#keepOnly(payload.memberAssignment);
    });
    this.#leaseWatch = setInterval(() => this.#lookAtLease(), LEASE_LOOK_MS);
  }

  /** Where something is in work now. */
  places(): Place[] {
    const busy = [...this.#held.values()].filter(({ work }) => !work.isAtRest);
    return busy.map(({ topic, partition }) => ({ topic, partition }));
  }

  /** @returns false where there is no room now: it isn't taken, and comes again when there is */
  take(record: IncomingRecord, lanes: readonly string[]): boolean {
    const { topic, partition } = record;
    const { work } = this.#hold({ topic, partition });
    if (work.isFull) {
      this.#parts.consumer.pause([{ topic, partitions: [partition] }]);
      return false;
    }
    work.take(record, lanes);
    return true;
  }

  /** The consumer is gone: nothing more is begun, and nothing committed. */
  end(): void {
    clearInterval(this.#leaseWatch);
    for (const { work } of this.#held.values()) work.end();
    this.#held.clear();
  }

  /** Waits for what is in work, and commits what comes to its end. */
  async finish(): Promise<void> {
    clearInterval(this.#leaseWatch);
    await Promise.all([...this.#held.values()].map(({ work }) => work.finish()));
  }

  #hold({ topic, partition }: Place): Held {
    const key = `${topic}/${partition}`;
    const held = this.#held.get(key) ?? { topic, partition, work: this.#createWork({ topic, partition }) };
    this.#held.set(key, held);
    return held;
  }

  #createWork({ topic, partition }: Place): PartitionWork {
    const { consumer, handle, onError } = this.#parts;
    return new PartitionWork({
      ...{ lanes: this.#lanes, handle, onError },
      commit: (offset) => consumer.commitOffsets([{ topic, partition, offset: String(offset) }]),
      onRoom: () => consumer.resume([{ topic, partitions: [partition] }]),
    });
  }

  #confirmed(): void {
    this.#memberAt = performance.now();
  }

  #keepOnly(assignment: Readonly<Record<string, number[]>>): void {
    for (const [key, { topic, partition, work }] of this.#held) {
      if (assignment[topic]?.includes(partition)) continue;
      work.end();
      this.#held.delete(key);
    }
    // Who comes back to a partition that was paused here before would else never read it.
    for (const [topic, partitions] of Object.entries(assignment)) {
      const roomy = partitions.filter((partition) => !this.#held.get(`${topic}/${partition}`)?.work.isFull);
      this.#parts.consumer.resume([{ topic, partitions: roomy }]);
    }
  }

  /** Unheard for a session's time the partitions are another's: nobody has to tell, as when this process was frozen. */
  #lookAtLease(): void {
    if (performance.now() - this.#memberAt < this.#parts.sessionTimeoutMs) return;
    for (const { topic, partition, work } of this.#held.values()) {
      work.end();
      // Should they be this consumer's all the same, it reads on with what it has not done.
      if (work.mark !== null) this.#parts.consumer.seek({ topic, partition, offset: String(work.mark) });
    }
    this.#held.clear();
  }
}
