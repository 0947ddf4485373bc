import { HooklineError } from '../../core/errors.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';

/** The row stays in the spool for now, behind those of its topic or key that already wait. */
export class RowSkipped extends Error {}

/** After it a topic that confirmed nothing holds up the others no longer. */
const STUCK_MS = 2_000;
const CHECK_EVERY_MS = 250;

type Waiting = { readonly since: number; readonly release: () => void };
type Topic = {
  readonly waiting: Set<Waiting>;
  state: 'open' | 'stuck' | 'recovered';
  /** The oldest row that was left in the spool since it is stuck. */
  firstSkipped: number;
};

/**
 * Which topics take no records while the spool is drained. Of a stuck topic only those rows are in memory that were in
 * progress when it was found; later ones are skipped until these are stored, then read again in their order.
 */
export class RefusingTopics {
  readonly #topics = new Map<string, Topic>();
  readonly #onStuck: (error: HooklineError) => void;
  readonly #clock: Clock;
  readonly #timer: Timer;
  #confirmedAt: number;

  constructor(clock: Clock, onStuck: (error: HooklineError) => void) {
    this.#clock = clock;
    this.#onStuck = onStuck;
    this.#confirmedAt = clock.now();
    this.#timer = clock.every(CHECK_EVERY_MS, () => this.#check());
  }

  /**
   * @param release called when the record is no longer waited for: it is stored later, or the process ends before
   * @throws RowSkipped
   */
  async publish(
    record: OutgoingRecord,
    row: { readonly id: number; readonly release: () => void },
    publish: (record: OutgoingRecord) => Promise<Position>,
  ): Promise<Position> {
    const topic = this.#of(record.topic);
    if (topic.state !== 'open') {
      topic.firstSkipped = Math.min(topic.firstSkipped, row.id);
      throw new RowSkipped();
    }
    const waiting = { since: this.#clock.now(), release: row.release };
    topic.waiting.add(waiting);
    try {
      const position = await publish(record);
      this.#confirmedAt = this.#clock.now();
      return position;
    } finally {
      topic.waiting.delete(waiting);
      noteSettled(topic);
    }
  }

  get isAnyStuck(): boolean {
    return [...this.#topics.values()].some(({ state }) => state !== 'open');
  }

  /** Nothing at all is confirmed: what is read now would mostly be skipped. */
  get isQuiet(): boolean {
    return this.isAnyStuck && this.#clock.now() - this.#confirmedAt > STUCK_MS;
  }

  /** Opens the topics that take records again. @returns the oldest row that they left in the spool, or Infinity */
  reopen(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const topic of this.#topics.values()) {
      if (topic.state !== 'recovered') continue;
      first = Math.min(first, topic.firstSkipped);
      topic.state = 'open';
      topic.firstSkipped = Number.POSITIVE_INFINITY;
    }
    return first;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #of(name: string): Topic {
    const known = this.#topics.get(name);
    if (known) return known;
    const topic: Topic = { waiting: new Set(), state: 'open', firstSkipped: Number.POSITIVE_INFINITY };
    this.#topics.set(name, topic);
    return topic;
  }

  #check(): void {
    const late = this.#clock.now() - STUCK_MS;
    for (const [name, topic] of this.#topics) {
      const [oldest] = topic.waiting;
      if (topic.state !== 'open' || oldest === undefined || oldest.since > late) continue;
      topic.state = 'stuck';
      for (const { release } of topic.waiting) release();
      const detail = `${name} confirms nothing; deliveries of other topics continue`;
      this.#onStuck(new HooklineError('PUBLISH_DEADLINE', detail, { topic: name }));
    }
  }
}

function noteSettled(topic: Topic): void {
  if (topic.state === 'stuck' && topic.waiting.size === 0) topic.state = 'recovered';
}
