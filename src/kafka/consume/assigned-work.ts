import type kafkajs from 'kafkajs';
import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { FairQueue } from './keyed-queue.ts';
import { PartitionWork } from './partition-work.ts';

export type AssignedWorkParts = {
  readonly consumer: kafkajs.Consumer;
  readonly sessionTimeoutMs: number;
  /** The process's own, whatever becomes of a consumer: what was in work by the one before may be so still. */
  readonly queue: FairQueue;
  readonly keysOf: (record: IncomingRecord) => Promise<readonly string[]>;
  readonly handle: (record: IncomingRecord, lease: Lease) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  readonly onWorking: (isWorking: boolean) => void;
};

type Place = { readonly topic: string; readonly partition: number };
type Held = Place & { readonly work: PartitionWork };

const LEASE_LOOK_MS = 500;

/** What is in work of the partitions that the group has given to this consumer, for as long as they are its own. */
export class AssignedWork {
  readonly #parts: AssignedWorkParts;
  readonly #held = new Map<string, Held>();
  readonly #lease: GroupLease;
  readonly #leaseWatch: NodeJS.Timeout;
  #assigned = 0;

  constructor(parts: AssignedWorkParts) {
    this.#parts = parts;
    const { consumer, sessionTimeoutMs } = parts;
    this.#lease = new GroupLease(consumer, sessionTimeoutMs);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => this.#keepOnly(payload.memberAssignment));
    this.#leaseWatch = setInterval(() => this.#look(), LEASE_LOOK_MS);
  }

  /** Partitions that the group has given to this consumer, and can't have given to another since. */
  count(): number {
    return this.#lease.isOver ? 0 : this.#assigned;
  }

  /** @returns false where there is no room now: it isn't taken, and comes again when there is */
  take(record: IncomingRecord): boolean {
    const { topic, partition } = record;
    const { work } = this.#hold({ topic, partition });
    if (work.isFull) {
      this.#parts.consumer.pause([{ topic, partitions: [partition] }]);
      return false;
    }
    work.take(record);
    return true;
  }

  /** The consumer is gone: nothing more is begun, and nothing committed. */
  end(): void {
    clearInterval(this.#leaseWatch);
    this.#count({});
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
    const { consumer, queue, keysOf, handle, onError } = this.#parts;
    return new PartitionWork({
      ...{ queue, keysOf, handle, onError, look: () => this.#look() },
      commit: (offset) => consumer.commitOffsets([{ topic, partition, offset: String(offset) }]),
      onRoom: () => consumer.resume([{ topic, partitions: [partition] }]),
    });
  }

  #count(assignment: Readonly<Record<string, number[]>>): void {
    const wasWorking = this.#assigned > 0;
    this.#assigned = Object.values(assignment).flat().length;
    const isWorking = this.#assigned > 0;
    if (isWorking !== wasWorking) this.#parts.onWorking(isWorking);
  }

  #keepOnly(assignment: Readonly<Record<string, number[]>>): void {
    this.#count(assignment);
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
  #look(): void {
    if (!this.#lease.isOver) return;
    for (const { topic, partition, work } of this.#held.values()) {
      work.end();
      // Should they be this consumer's all the same, it reads on with what it has not done.
      if (work.mark !== null) this.#parts.consumer.seek({ topic, partition, offset: String(work.mark) });
    }
    this.#held.clear();
  }
}

/** Requests by whose arrival the brokers count a member's session anew. */
const RENEWING = new Set(['Heartbeat', 'SyncGroup']);

/**
 * How long a member of a consumer group may go on without hearing of the group. It counts from when the request was
 * sent that was last answered, which is before the brokers began to count: so it is over here before another can have
 * the partitions, and an answer that is read after the process was frozen for an hour renews nothing.
 */
export class GroupLease {
  readonly #sessionTimeoutMs: number;
  #sentAt = performance.now();
  #begunAt = this.#sentAt;

  constructor(consumer: Pick<kafkajs.Consumer, 'on' | 'events'>, sessionTimeoutMs: number) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
    consumer.on(consumer.events.REQUEST, ({ payload: { apiName, duration } }) => {
      if (RENEWING.has(apiName)) this.#sentAt = performance.now() - Math.max(0, duration);
    });
    // A request may as well be answered by a no: these two are told of a yes.
    consumer.on(consumer.events.HEARTBEAT, () => this.#renew());
    consumer.on(consumer.events.GROUP_JOIN, () => this.#renew());
  }

  get isOver(): boolean {
    return performance.now() - this.#begunAt >= this.#sessionTimeoutMs;
  }

  #renew(): void {
    this.#begunAt = this.#sentAt;
  }
}
