import type kafkajs from 'kafkajs';
import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import { PartitionWork } from './partition-work.ts';

export type AssignedWorkDeps = {
  readonly consumer: kafkajs.Consumer;
  readonly sessionTimeoutMs: number;
  /** The process's own, whatever becomes of a consumer: what was in work by the one before may be so still. */
  readonly queue: KeyedQueue;
  readonly keysOf: (record: IncomingRecord) => Promise<readonly string[]>;
  readonly handle: (record: IncomingRecord, lease: Lease) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  /** See GroupReaderDeps. */
  readonly onWorking: (lease: Lease | null) => void;
  readonly clock: Clock;
};

type Partition = { readonly topic: string; readonly partition: number };
type Assigned = Partition & { readonly work: PartitionWork };

const LEASE_CHECK_MS = 500;

/** What is in work of the partitions that the group has given to this consumer, for as long as they are its own. */
export class AssignedWork {
  readonly #deps: AssignedWorkDeps;
  readonly #assigned = new Map<string, Assigned>();
  readonly #lease: GroupLease;
  readonly #leaseWatch: Timer;
  #count = 0;
  /** Not there while this process stands by. */
  #working: AbortController | undefined;

  constructor(deps: AssignedWorkDeps) {
    this.#deps = deps;
    const { consumer, sessionTimeoutMs, clock } = deps;
    this.#lease = new GroupLease(consumer, sessionTimeoutMs, clock);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => this.#keepOnly(payload.memberAssignment));
    this.#leaseWatch = clock.every(LEASE_CHECK_MS, () => this.#checkLease());
  }

  /** Partitions that the group has given to this consumer, and can't have given to another since. */
  count(): number {
    return this.#lease.isOver ? 0 : this.#count;
  }

  /** @returns false where there is no room now: it isn't taken, and comes again when there is */
  take(record: IncomingRecord): boolean {
    const { topic, partition } = record;
    const { work } = this.#of({ topic, partition });
    if (work.isFull) {
      this.#deps.consumer.pause([{ topic, partitions: [partition] }]);
      return false;
    }
    work.take(record);
    return true;
  }

  /** The consumer is gone: nothing more is begun, and nothing committed. */
  end(): void {
    this.#leaseWatch.cancel();
    this.#count = 0;
    this.#update();
    for (const { work } of this.#assigned.values()) work.end();
    this.#assigned.clear();
  }

  /** Waits for what is in work, and commits what comes to its end. */
  async finish(): Promise<void> {
    this.#leaseWatch.cancel();
    this.#working?.abort();
    await Promise.all([...this.#assigned.values()].map(({ work }) => work.finish()));
  }

  #of({ topic, partition }: Partition): Assigned {
    const key = `${topic}/${partition}`;
    const one = this.#assigned.get(key) ?? { topic, partition, work: this.#createWork({ topic, partition }) };
    this.#assigned.set(key, one);
    return one;
  }

  #createWork({ topic, partition }: Partition): PartitionWork {
    const { consumer, queue, keysOf, handle, onError, clock } = this.#deps;
    return new PartitionWork({
      ...{ queue, keysOf, handle, onError, clock, checkLease: () => this.#checkLease() },
      commit: (offset) => consumer.commitOffsets([{ topic, partition, offset: String(offset) }]),
      onCapacity: () => consumer.resume([{ topic, partitions: [partition] }]),
    });
  }

  /** This process works while it has partitions and can be sure that no other has them. */
  #update(): void {
    const isWorking = this.count() > 0;
    if (isWorking === (this.#working !== undefined)) return;
    this.#working?.abort();
    this.#working = isWorking ? new AbortController() : undefined;
    this.#deps.onWorking(this.#working ? this.#leaseUntil(this.#working.signal) : null);
  }

  #leaseUntil(signal: AbortSignal): Lease {
    const check = () => {
      this.#checkLease();
      signal.throwIfAborted();
    };
    return { signal, check };
  }

  #keepOnly(assignment: Readonly<Record<string, number[]>>): void {
    this.#count = Object.values(assignment).flat().length;
    this.#update();
    for (const [key, { topic, partition, work }] of this.#assigned) {
      if (assignment[topic]?.includes(partition)) continue;
      work.end();
      this.#assigned.delete(key);
    }
    // Who comes back to a partition that was paused here before would else never read it.
    for (const [topic, partitions] of Object.entries(assignment)) {
      const roomy = partitions.filter(
        (partition) => !this.#assigned.get(`${topic}/${partition}`)?.work.isFull,
      );
      this.#deps.consumer.resume([{ topic, partitions: roomy }]);
    }
  }

  /** Unheard for a session's time the partitions are another's: nobody has to tell, as when this process was frozen. */
  #checkLease(): void {
    this.#update();
    if (!this.#lease.isOver) return;
    for (const { topic, partition, work } of this.#assigned.values()) {
      work.end();
      // Should they be this consumer's all the same, it reads on with what it has not done.
      if (work.mark !== null) this.#deps.consumer.seek({ topic, partition, offset: String(work.mark) });
    }
    this.#assigned.clear();
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
  readonly #clock: Pick<Clock, 'now'>;
  #sentAt: number;
  #begunAt: number;

  constructor(
    consumer: Pick<kafkajs.Consumer, 'on' | 'events'>,
    sessionTimeoutMs: number,
    clock: Pick<Clock, 'now'>,
  ) {
    this.#clock = clock;
    this.#sentAt = clock.now();
    this.#begunAt = this.#sentAt;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    consumer.on(consumer.events.REQUEST, ({ payload: { apiName, duration } }) => {
      if (RENEWING.has(apiName)) this.#sentAt = clock.now() - Math.max(0, duration);
    });
    // A request may as well be answered by a no: these two are told of a yes.
    consumer.on(consumer.events.HEARTBEAT, () => this.#renew());
    consumer.on(consumer.events.GROUP_JOIN, () => this.#renew());
  }

  get isOver(): boolean {
    return this.#clock.now() - this.#begunAt >= this.#sessionTimeoutMs;
  }

  #renew(): void {
    this.#begunAt = this.#sentAt;
  }
}
