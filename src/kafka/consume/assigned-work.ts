import type kafkajs from 'kafkajs';
import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { GroupLease, LEASE_CHECK_MS } from './group-lease.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import { PartitionWork } from './partition-work.ts';
import type { RecreatedTopics } from './recreated-topics.ts';

export type AssignedWorkDeps = {
  readonly consumer: kafkajs.Consumer;
  readonly sessionTimeoutMs: number;
  /** One for the process, for all its consumers: records of an earlier consumer may still be in progress. */
  readonly queue: KeyedQueue;
  /** One for the process, too. */
  readonly recreated: RecreatedTopics;
  readonly keysOf: (record: IncomingRecord) => Promise<readonly string[]>;
  readonly handle: (record: IncomingRecord, lease: Lease) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  /** See GroupReaderDeps. */
  readonly onWorking: (lease: Lease | null) => void;
  readonly clock: Clock;
};

type Partition = { readonly topic: string; readonly partition: number };
type Assigned = Partition & { readonly work: PartitionWork };
/** By topic, the partitions. */
type Assignment = Readonly<Record<string, readonly number[]>>;

/** The records in progress of the partitions that the group has assigned to this consumer, until they are revoked. */
export class AssignedWork {
  readonly #deps: AssignedWorkDeps;
  readonly #assigned = new Map<string, Assigned>();
  readonly #lease: GroupLease;
  readonly #leaseWatch: Timer;
  #count = 0;
  #assignment: Assignment = {};
  #memberId: string | undefined;
  /** Nothing more is begun, whatever the group assigns until it is left. */
  #isFinishing = false;
  /** Not there while this process stands by. */
  #working: AbortController | undefined;

  constructor(deps: AssignedWorkDeps) {
    this.#deps = deps;
    const { consumer, sessionTimeoutMs, clock } = deps;
    this.#lease = new GroupLease(consumer, sessionTimeoutMs, clock);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      // As another member it has lost what it had, and others may have worked since.
      if (payload.memberId !== this.#memberId) this.#keepOnly({});
      this.#memberId = payload.memberId;
      this.#keepOnly(payload.memberAssignment);
      deps.recreated.rejoined();
      this.beginAnew();
    });
    consumer.on(consumer.events.STOP, () => this.#keepOnly({}));
    this.#leaseWatch = clock.every(LEASE_CHECK_MS, () => {
      this.#checkLease();
      this.beginAnew();
    });
  }

  /** Partitions that are assigned to this consumer, and cannot have been assigned to another since. */
  count(): number {
    return this.#lease.isOver || this.#isFinishing ? 0 : this.#count;
  }

  /** @returns false where the partition's work is full: the record comes again when it is not; or is another's */
  take(record: IncomingRecord): boolean {
    const { topic, partition } = record;
    // The answer was on its way while this member joined again, and was given something else.
    if (!this.#assignment[topic]?.includes(partition)) return false;
    const known = this.#of({ topic, partition });
    // What is committed does not come again, unless the topic is another one of the same name, or has lost its end.
    if (record.offset < (known.work.committed ?? 0n)) this.#end(known);
    const { work } = this.#of({ topic, partition });
    if (work.isFull) {
      this.#deps.consumer.pause([{ topic, partitions: [partition] }]);
      return false;
    }
    work.take(record);
    return true;
  }

  /** What a partition holds before this offset was taken, or is no record. */
  pass({ topic, partition }: Partition, next: bigint): void {
    this.#known(topic, partition)?.work.pass(next);
  }

  /** Of a topic that is another one of the same name, whatever was read and committed is of the one before. */
  beginAnew(): void {
    const { consumer, recreated } = this.#deps;
    recreated.begin(consumer, this.#assignment, (...one) => this.#end(this.#known(...one)));
  }

  /** The consumer has ended: nothing more is begun or committed. */
  end(): void {
    this.#leaseWatch.cancel();
    this.#count = 0;
    this.#assignment = {};
    this.#update();
    for (const { work } of this.#assigned.values()) work.end();
    this.#assigned.clear();
  }

  /** Waits for the handlers in progress, and commits what they finish. */
  async finish(): Promise<void> {
    this.#leaseWatch.cancel();
    this.#isFinishing = true;
    this.#working?.abort();
    await Promise.all([...this.#assigned.values()].map(({ work }) => work.finish()));
  }

  #known = (topic: string, partition: number) => this.#assigned.get(`${topic}/${partition}`);

  #end(known: Assigned | undefined): void {
    known?.work.end();
    if (known) this.#assigned.delete(`${known.topic}/${known.partition}`);
  }

  #of({ topic, partition }: Partition): Assigned {
    const key = `${topic}/${partition}`;
    const one = this.#assigned.get(key) ?? { topic, partition, work: this.#createWork({ topic, partition }) };
    this.#assigned.set(key, one);
    return one;
  }

  #createWork({ topic, partition }: Partition): PartitionWork {
    const { consumer, recreated, queue, keysOf, handle, onError, clock } = this.#deps;
    const work = new PartitionWork({
      queue,
      keysOf,
      handle,
      onError,
      clock,
      checkLease: () => this.#checkLease(),
      leftMs: () => this.#lease.leftMs,
      commit: (offset) => {
        const commit = consumer.commitOffsets([{ topic, partition, offset: String(offset) }]);
        // Else it is of the topic before.
        if (this.#known(topic, partition)?.work === work) recreated.commits({ topic, partition }, commit);
        return commit;
      },
      onCapacity: () => inGroup(() => consumer.resume([{ topic, partitions: [partition] }])),
    });
    return work;
  }

  /** This process works while it has partitions and can be sure that no other has them. */
  #update(): void {
    const isWorking = this.#count > 0 && !this.#lease.isOver;
    // What an orderly stop waits for may still write: it goes on until the lease ends, and nothing begins.
    if (isWorking === (this.#working !== undefined) || (isWorking && this.#isFinishing)) return;
    this.#working?.abort();
    this.#working = isWorking ? new AbortController() : undefined;
    this.#deps.onWorking(this.#working ? this.#leaseUntil(this.#working.signal) : null);
  }

  #leaseUntil(signal: AbortSignal): Lease {
    const check = () => {
      this.#checkLease();
      signal.throwIfAborted();
    };
    return { signal, check, leftMs: () => this.#lease.leftMs };
  }

  #keepOnly(assignment: Assignment): void {
    this.#count = Object.values(assignment).flat().length;
    this.#assignment = assignment;
    this.#update();
    for (const one of this.#assigned.values())
      if (!assignment[one.topic]?.includes(one.partition)) this.#end(one);
    // A partition that was paused here before and comes back would never be read otherwise.
    for (const [topic, partitions] of Object.entries(assignment)) {
      const isFull = (one: number) => this.#known(topic, one)?.work.isFull;
      const notFull = partitions.filter((one) => !isFull(one));
      this.#deps.consumer.resume([{ topic, partitions: notFull }]);
    }
  }

  /** After a session time-out the partitions may be another's, without notice, as when this process was frozen. */
  #checkLease(): void {
    this.#update();
    if (!this.#lease.isOver) return;
    const { consumer } = this.#deps;
    for (const { topic, partition, work } of this.#assigned.values()) {
      work.end();
      const { committed } = work;
      // If they are still assigned to this consumer, it continues with what is not committed: nobody else would commit it.
      if (committed !== null) inGroup(() => consumer.seek({ topic, partition, offset: String(committed) }));
    }
    this.#assigned.clear();
  }
}

/** The client throws while it starts again and has no group: then nothing is paused, and it begins with what is committed. */
function inGroup(act: () => void): void {
  try {
    act();
  } catch {}
}
