import { HooklineError } from '../../core/errors.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { orderKey } from '../claim-check.ts';

/** The row stays in the spool for now, behind those of its topic or key that already wait. */
export class RowSkipped extends Error {}

/** After it a topic that confirmed nothing holds up the others no longer. */
const STUCK_MS = 2_000;
const CHECK_EVERY_MS = 250;

/** A row that waits for its object, or for that of an earlier row of its key, before it is published. */
export type Turn = { readonly id: number; isOvertaken: boolean };

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
  /** By key; see {@link orderKey}. */
  readonly #turns = new Map<string, Set<Turn>>();

  constructor(clock: Clock, onStuck: (error: HooklineError) => void) {
    this.#clock = clock;
    this.#onStuck = onStuck;
    this.#confirmedAt = clock.now();
    this.#timer = clock.every(CHECK_EVERY_MS, () => this.#check());
  }

  /**
   * Calls `publish` with the row's turn, which may take long. If an earlier row of the key is skipped meanwhile, this one will
   * be too: the topic may be open again by then, and the earlier one would come behind it.
   * @throws RowSkipped
   */
  async inTurn<T>(record: OutgoingRecord, id: number, publish: (turn: Turn) => Promise<T>): Promise<T> {
    const order = orderKey(record);
    const topic = this.#of(record.topic);
    if (isSkipping(topic, id)) throw this.#skip(topic, order, id);
    const turn = { id, isOvertaken: false };
    const turns = this.#turns.get(order) ?? new Set();
    this.#turns.set(order, turns.add(turn));
    try {
      return await publish(turn);
    } finally {
      turns.delete(turn);
      if (turns.size === 0) this.#turns.delete(order);
    }
  }

  /**
   * @param release called when the record is no longer waited for: it is stored later, or the process ends before
   * @throws RowSkipped
   */
  async publish(
    record: OutgoingRecord,
    row: { readonly id: number; readonly release: () => void; readonly turn?: Turn | undefined },
    publish: (record: OutgoingRecord) => Promise<Position>,
  ): Promise<Position> {
    const topic = this.#of(record.topic);
    if (isSkipping(topic, row.id) || row.turn?.isOvertaken) throw this.#skip(topic, orderKey(record), row.id);
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
    return [...this.#topics.values()].some(
      ({ state, firstSkipped }) => state !== 'open' || Number.isFinite(firstSkipped),
    );
  }

  /** Nothing at all is confirmed: what is read now would mostly be skipped. */
  get isQuiet(): boolean {
    return this.isAnyStuck && this.#clock.now() - this.#confirmedAt > STUCK_MS;
  }

  /** Opens the topics that take records again. @returns the oldest row that open ones left in the spool, or Infinity */
  reopen(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const topic of this.#topics.values()) {
      if (topic.state === 'stuck') continue;
      first = Math.min(first, topic.firstSkipped);
      topic.state = 'open';
      topic.firstSkipped = Number.POSITIVE_INFINITY;
    }
    return first;
  }

  stop(): void {
    this.#timer.cancel();
  }

  /** The row stays in the spool, and with it the later ones of its key that wait for their turn. */
  #skip(topic: Topic, order: string, id: number): RowSkipped {
    topic.firstSkipped = Math.min(topic.firstSkipped, id);
    for (const turn of this.#turns.get(order) ?? []) turn.isOvertaken ||= turn.id > id;
    return new RowSkipped();
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

/** Also of an open topic, while an earlier row is to be read again: this one would pass it. */
const isSkipping = ({ state, firstSkipped }: Topic, id: number): boolean =>
  state !== 'open' || firstSkipped < id;

function noteSettled(topic: Topic): void {
  if (topic.state === 'stuck' && topic.waiting.size === 0) topic.state = 'recovered';
}
