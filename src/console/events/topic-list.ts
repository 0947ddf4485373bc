import type { TopicKind } from '../../cli/inspect/describe-record.ts';
import type { Clock } from '../../runtime/clock.ts';

type Topics = ReadonlyMap<string, TopicKind>;

export type TopicListDeps = { readonly ask: () => Promise<Topics>; readonly clock: Clock };

const FRESH_MS = 10_000;

/** The topics that there are, each with its kind. */
export class TopicList {
  readonly #deps: TopicListDeps;
  #asked: { readonly at: number; readonly topics: Promise<Topics> } | undefined;
  #latest: Topics = new Map();

  constructor(deps: TopicListDeps) {
    this.#deps = deps;
  }

  /** As the brokers knew them at most 10 s ago. */
  all(): Promise<Topics> {
    const { ask, clock } = this.#deps;
    if (this.#asked && clock.now() - this.#asked.at <= FRESH_MS) return this.#asked.topics;
    const topics = ask();
    this.#asked = { at: clock.now(), topics };
    topics.then(
      (latest) => {
        this.#latest = latest;
      },
      // The next one asks again.
      () => {
        this.#asked = undefined;
      },
    );
    return topics;
  }

  /** What its records are, as far as it was a topic the last time. */
  kindOf = (topic: string): TopicKind | undefined => this.#latest.get(topic);

  /**
   * The first of these names that is a topic. One that was a topic the last time is not waited for, only asked about for
   * the next time: whoever reads it finds out.
   */
  async find(names: readonly string[]): Promise<string | undefined> {
    const fresh = this.all();
    const known = names.find((name) => this.#latest.has(name));
    if (known === undefined) return fresh.then((topics) => names.find((name) => topics.has(name)));
    fresh.catch(() => {});
    return known;
  }
}
