import { textWithCode } from '../../core/errors.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { remedyFor } from './attempt-error.ts';

/** What is known of the brokers' willingness, topic by topic, and kept true while nothing is published. */
export class TopicHealth {
  readonly #deps: TopicHealthDeps;
  readonly #troubles = new Map<string, string>();
  readonly #heardAt = new Map<string, number>();
  readonly #probing = new Set<string>();
  readonly #timer: Timer;

  constructor(deps: TopicHealthDeps) {
    this.#deps = deps;
    this.#timer = deps.clock.every(PROBE_EVERY_MS, () => this.#probeQuietOnes());
  }

  /** Something was heard of the topic: null where it takes records, or why not. */
  note(topic: string, why: string | null): void {
    this.#heardAt.set(topic, this.#deps.clock.now());
    const changed = this.#troubles.has(topic) !== (why !== null);
    if (why === null) this.#troubles.delete(topic);
    else this.#troubles.set(topic, withRemedy(topic, why));
    if (changed) this.#deps.onChange(topic, this.#troubles.get(topic) ?? null);
  }

  /** A record was not confirmed in time: if nothing better is known, that is the trouble. */
  noteDelay(topic: string): void {
    if (!this.#troubles.has(topic)) this.note(topic, 'no confirmation within the deadline');
  }

  isTroubled(topic: string): boolean {
    return this.#troubles.has(topic);
  }

  /** The first topic in trouble, or this one, and why; or null. */
  trouble(of?: string): string | null {
    for (const [topic, why] of this.#troubles)
      if (of === undefined || of === topic) return `${topic}: ${why}`;
    return null;
  }

  stop(): void {
    this.#timer.cancel();
  }

  /**
   * A process that isn't ready gets no traffic, and one without traffic would never learn that the brokers are back, nor
   * that they went. A topic in use is known by its own confirmations.
   */
  #probeQuietOnes(): void {
    const quietSince = this.#deps.clock.now() - PROBE_EVERY_MS;
    for (const topic of this.#deps.topics()) {
      const isQuiet = (this.#heardAt.get(topic) ?? 0) < quietSince;
      if (isQuiet && !this.#probing.has(topic)) void this.#probe(topic);
    }
  }

  async #probe(topic: string): Promise<void> {
    this.#probing.add(topic);
    try {
      await this.#deps.probe(topic);
      // What waits for its confirmation says more than an answer about the topic does.
      if (!this.#deps.isWaiting(topic)) this.note(topic, null);
    } catch (error) {
      this.note(topic, textWithCode(error));
    } finally {
      this.#probing.delete(topic);
    }
  }
}

function withRemedy(topic: string, why: string): string {
  const remedy = remedyFor(why, topic);
  return remedy === undefined ? why : `${why}: ${remedy}`;
}

export type TopicHealthDeps = {
  readonly clock: Clock;
  readonly topics: () => Iterable<string>;
  /** Asks the brokers about the topic; rejects where they don't answer, or a partition has no leader. */
  readonly probe: (topic: string) => Promise<unknown>;
  /** Whether records of the topic wait for their confirmation. */
  readonly isWaiting: (topic: string) => boolean;
  /** A topic's first trouble, and null when it is over. */
  readonly onChange: (topic: string, trouble: string | null) => void;
};

const PROBE_EVERY_MS = 2_000;
