import type kafkajs from 'kafkajs';
import type { Clock } from '../../runtime/clock.ts';

/** A rebalance that gives the partitions to another process, which must begin anew itself, is over by then. */
const REMEMBERED_MS = 120_000;

type Recreated = {
  readonly until: number;
  /** Partitions that the consumer was told to read from the beginning, since it joined last. */
  readonly sought: Map<number, { isCommitting: boolean }>;
  /** Those whose beginning is committed: whoever has them next begins there. */
  readonly committed: Set<number>;
};

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
    sought.set(partition, { isCommitting: false });
  }
  const one = sought.get(partition);
  if (!one || one.isCommitting) return;
  one.isCommitting = true;
  // What was in progress may have been committed behind the change: whoever begins after us would begin there.
  consumer.commitOffsets([{ topic, partition, offset: '0' }]).then(
    () => committed.add(partition),
    () => {
      one.isCommitting = false;
    },
  );
}
