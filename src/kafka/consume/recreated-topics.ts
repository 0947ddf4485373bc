import type kafkajs from 'kafkajs';
import type { Clock } from '../../runtime/clock.ts';

/** A rebalance that gives the partitions to another process, which must begin anew itself, is over by then. */
const REMEMBERED_MS = 120_000;

type Recreated = {
  readonly until: number;
  /** Partitions that the consumer was told to read from the beginning, since it joined last. */
  readonly sought: Map<number, Sought>;
  /** Those whose beginning is committed: whoever has them next begins there. */
  readonly committed: Set<number>;
};

/** How many commits of its beginning, or of what was done behind it, are under way. */
type Sought = { committing: number };

type Consumer = Pick<kafkajs.Consumer, 'seek' | 'resume' | 'commitOffsets'>;
type Partition = { readonly topic: string; readonly partition: number };

/**
 * Topics that were deleted and created anew, until their partitions are read from the beginning. A consumer that joins its
 * group again takes neither a seek nor a commit, and then goes on with what was committed of the topic before.
 */
export class RecreatedTopics {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #topics = new Map<string, Recreated>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  add(topic: string): void {
    const until = this.#clock.now() + REMEMBERED_MS;
    this.#topics.set(topic, { until, sought: new Map(), committed: new Set() });
  }

  /** The consumer has joined its group again: it goes on with what is committed, whatever it was told before. */
  rejoined(): void {
    for (const { sought } of this.#topics.values()) sought.clear();
  }

  /** What was done since the beginning is being committed: the beginning must not be committed over it. */
  commits({ topic, partition }: Partition, commit: Promise<void>): void {
    const { sought, committed } = this.#topics.get(topic) ?? {};
    const one = sought?.get(partition);
    if (one && committed) noteCommit(one, commit, () => committed.add(partition));
  }

  /**
   * Tries for the partitions that the group has assigned to this consumer. To be called again and again: what failed is tried again.
   * @param onBegin gets each partition right before it is read from its beginning
   */
  begin(
    consumer: Consumer,
    assignment: Readonly<Record<string, readonly number[]>>,
    onBegin: (topic: string, partition: number) => void,
  ): void {
    for (const [topic, recreated] of this.#topics) {
      const partitions = assignment[topic] ?? [];
      const left = partitions.filter((one) => !recreated.committed.has(one));
      for (const partition of left) beginOne(consumer, { topic, partition }, recreated, onBegin);
      const isOver = partitions.length > 0 ? left.length === 0 : this.#clock.now() >= recreated.until;
      if (isOver) this.#topics.delete(topic);
    }
  }
}

function beginOne(
  consumer: Consumer,
  { topic, partition }: Partition,
  { sought, committed }: Recreated,
  onBegin: (topic: string, partition: number) => void,
): void {
  if (!sought.has(partition)) {
    onBegin(topic, partition);
    try {
      consumer.seek({ topic, partition, offset: '0' });
      consumer.resume([{ topic, partitions: [partition] }]);
    } catch {
      // The client starts again, and has no group.
      return;
    }
    sought.set(partition, { committing: 0 });
  }
  const one = sought.get(partition);
  if (!one || one.committing > 0) return;
  // What was in progress may have been committed behind the change: whoever begins after us would begin there.
  const commit = consumer.commitOffsets([{ topic, partition, offset: '0' }]);
  noteCommit(one, commit, () => committed.add(partition));
}

function noteCommit(one: Sought, commit: Promise<void>, onCommitted: () => void): void {
  one.committing++;
  commit.then(onCommitted, () => {
    one.committing--;
  });
}
