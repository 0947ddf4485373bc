import type { TopicKind } from '../../cli/inspect/describe-record.ts';
import { type Clock, pause } from '../../runtime/clock.ts';
import type { Hits, IndexFile } from './index-file.ts';
import {
  type IndexedTopic,
  openIndexedTopic,
  type PartitionCoverage,
  type ReadTopicDeps,
} from './read-topic.ts';
import { hashOf } from './terms.ts';

export type RecordIndexDeps = Omit<ReadTopicDeps, 'maxRecords'> & {
  /** The topics to index, each with its kind. */
  readonly topics: () => Promise<ReadonlyMap<string, TopicKind>>;
  /** A reading failed and is tried again: told once for each new reason. */
  readonly onFailure: (topic: string | null, error: Error) => void;
  readonly maxBytes: number;
  readonly pollMs?: number;
};

/** How far the index is with one topic. */
export type TopicCoverage = {
  readonly topic: string;
  readonly kind: TopicKind;
  readonly partitions: readonly PartitionCoverage[];
  /** Why it is not read now. */
  readonly failure: string | null;
};

const POLL_MS = 1_000;
const LIST_TOPICS_AFTER_MS = 30_000;
/** How long what the brokers said last is taken for what there is: a request that hangs fails later than that. */
const KNOWN_MS = 15_000;
/** Of a record in the file: three entries or so. A million events have 90 MiB. */
const RECORD_BYTES = 100;

/** What the console has seen: finds the records of an event id, entity, ref or command id. Fills itself until it is stopped. */
export class RecordIndex {
  readonly #deps: RecordIndexDeps;
  readonly #clock: Clock;
  readonly #file: IndexFile;
  readonly #stopping = new AbortController();
  readonly #topics = new Map<string, IndexedTopic>();
  readonly #failures = new Map<string | null, string>();
  #answeredAt: number;
  #kinds: ReadonlyMap<string, TopicKind> = new Map();
  readonly #filling: Promise<void>;
  readonly #firstPass = Promise.withResolvers<void>();
  /** Resolves when it has looked at every topic once, or at the stop: coverage is known then. */
  readonly started = this.#firstPass.promise;

  constructor(deps: RecordIndexDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#file = deps.file;
    this.#answeredAt = this.#clock.now();
    this.#filling = this.#fill();
  }

  /** Where records with this text may be. Hashes may be shared: compare the records. */
  find(text: string, latest: number): Hits[] {
    return this.#file.find(hashOf(text), latest).filter(({ topic }) => this.#kinds.has(topic));
  }

  kindOf = (topic: string): TopicKind | undefined => this.#kinds.get(topic);

  coverage(): TopicCoverage[] {
    const isOld = this.#clock.now() - this.#answeredAt > KNOWN_MS;
    const unknown = isOld
      ? `not read for ${KNOWN_MS / 1_000} s: Kafka or the schema registry does not answer`
      : this.#failures.get(null);
    return [...this.#kinds].map(([topic, kind]) => ({
      topic,
      kind,
      partitions: this.#topics.get(topic)?.coverage ?? [],
      failure: this.#failures.get(topic) ?? unknown ?? null,
    }));
  }

  /** Why no topic is known, and {@link coverage} has nothing to say. */
  get failure(): string | null {
    return this.#kinds.size > 0 ? null : (this.#failures.get(null) ?? null);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#topics.values()].map((topic) => topic.stop()));
    await this.#filling;
  }

  async #fill(): Promise<void> {
    const { signal } = this.#stopping;
    const { pollMs = POLL_MS } = this.#deps;
    let listedAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      if (this.#clock.now() - listedAt > LIST_TOPICS_AFTER_MS) {
        await this.#trying(null, async () => {
          this.#kinds = await this.#deps.topics();
          listedAt = this.#clock.now();
        });
        await this.#closeRemoved();
      }
      let isBehind = false;
      // One slice of each topic: a long one does not delay the others.
      for (const [topic, kind] of this.#kinds)
        isBehind = (await this.#trying(topic, () => this.#readOn(topic, kind))) || isBehind;
      if (this.#kinds.size > 0) this.#firstPass.resolve();
      if (!isBehind) await pause(this.#clock, pollMs, signal);
    }
    this.#firstPass.resolve();
  }

  async #closeRemoved(): Promise<void> {
    for (const [topic, opened] of this.#topics) {
      if (this.#kinds.has(topic)) continue;
      this.#topics.delete(topic);
      await opened.stop();
    }
  }

  async #readOn(topic: string, kind: TopicKind): Promise<boolean> {
    let opened = this.#topics.get(topic);
    if (!opened) {
      const maxRecords = Math.floor(this.#deps.maxBytes / RECORD_BYTES);
      opened = await openIndexedTopic({ ...this.#deps, maxRecords }, topic, kind);
      if (this.#stopping.signal.aborted) await opened.stop();
      this.#topics.set(topic, opened);
    }
    return opened.readOn();
  }

  async #trying<T>(topic: string | null, work: () => Promise<T>): Promise<T | false> {
    if (this.#stopping.signal.aborted) return false;
    try {
      const done = await work();
      this.#answeredAt = this.#clock.now();
      this.#failures.delete(topic);
      return done;
    } catch (error) {
      const { message } = error as Error;
      if (this.#stopping.signal.aborted) return false;
      if (this.#failures.get(topic) !== message) this.#deps.onFailure(topic, error as Error);
      this.#failures.set(topic, message);
      return false;
    }
  }
}
