/** A work that waits: for those before it with one of its keys, or for a place. */
type Turn = {
  readonly keys: readonly string[];
  readonly begin: () => void;
  /** Of its keys, those that another turn of the same topic had before. */
  behind: number;
};

/** What waits and runs of one topic. */
type Topic = {
  /** By key, in the order in which they came; the first one is ready or runs. */
  readonly byKey: Map<string, Turn[]>;
  /** Those that are behind none of their own topic. */
  readonly ready: Turn[];
  running: number;
  /** When it was last given a place, as a count. */
  servedAt: number;
};

/**
 * Runs works that share a key one after the other, and all others beside one another, as many at once as there are
 * places. Topics share the places: one is kept for each topic that has nothing running, so that a work of an idle topic
 * begins at once whatever the others do, and a place that is free goes to the topic that has the fewest. Within a topic
 * works of a key run in the order in which they came; what waits in one topic is never before another topic's work.
 */
export class KeyedQueue {
  readonly #places: number;
  readonly #topics = new Map<string, Topic>();
  /** Keys of what runs, whatever its topic. */
  readonly #busy = new Set<string>();
  #running = 0;
  #served = 0;

  /** @param topics all that there are: each has a place at least, and there are more places where they are more */
  constructor(places: number, topics: readonly string[]) {
    this.#places = Math.max(places, new Set(topics).size);
    for (const topic of topics) this.#topic(topic);
  }

  /** @param work must not reject */
  run(
    { topic: name, keys }: { topic: string; keys: readonly string[] },
    work: () => Promise<void>,
  ): Promise<void> {
    const topic = this.#topic(name);
    const done = Promise.withResolvers<void>();
    const begin = async () => {
      try {
        await work();
      } finally {
        this.#end(topic, turn);
        done.resolve();
      }
    };
    const turn: Turn = { keys: [...new Set(keys)], begin: () => void begin(), behind: 0 };
    for (const key of turn.keys) {
      const before = topic.byKey.get(key);
      if (before) {
        before.push(turn);
        turn.behind++;
      } else topic.byKey.set(key, [turn]);
    }
    if (turn.behind === 0) topic.ready.push(turn);
    this.#beginWhatMay();
    return done.promise;
  }

  #topic(name: string): Topic {
    const known = this.#topics.get(name);
    if (known) return known;
    const topic: Topic = { byKey: new Map(), ready: [], running: 0, servedAt: 0 };
    this.#topics.set(name, topic);
    return topic;
  }

  #beginWhatMay(): void {
    for (let begun = this.#beginOne(); begun; ) begun = this.#beginOne();
  }

  #beginOne(): boolean {
    const all = [...this.#topics.values()];
    const free = this.#places - this.#running;
    const idle = all.filter(({ running }) => running === 0).length;
    const waiting = all
      .filter(({ ready, running }) => ready.length > 0 && free > (running === 0 ? 0 : idle))
      .sort((a, b) => a.running - b.running || a.servedAt - b.servedAt);
    for (const topic of waiting) {
      const at = topic.ready.findIndex(({ keys }) => keys.every((key) => !this.#busy.has(key)));
      const [turn] = at < 0 ? [] : topic.ready.splice(at, 1);
      if (!turn) continue;
      for (const key of turn.keys) this.#busy.add(key);
      this.#running++;
      topic.running++;
      topic.servedAt = ++this.#served;
      turn.begin();
      return true;
    }
    return false;
  }

  #end(topic: Topic, turn: Turn): void {
    this.#running--;
    topic.running--;
    for (const key of turn.keys) {
      this.#busy.delete(key);
      const queue = topic.byKey.get(key);
      queue?.shift();
      const [next] = queue ?? [];
      if (!next) topic.byKey.delete(key);
      else if (--next.behind === 0) topic.ready.push(next);
    }
    this.#beginWhatMay();
  }
}
