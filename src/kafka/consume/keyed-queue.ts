/** Work that waits: for work before it with one of its keys, or for a slot. */
type QueuedWork = {
  readonly keys: readonly string[];
  readonly begin: () => void;
  /** How many of its keys earlier work of the same topic has too. */
  behind: number;
};

/** What waits and runs of one topic. */
type Topic = {
  /** By key, in the order in which they came; the first one is ready or runs. */
  readonly byKey: Map<string, QueuedWork[]>;
  /** Those that are behind none of their own topic. */
  readonly ready: QueuedWork[];
  running: number;
  /** When it last got a slot, as a count. */
  servedAt: number;
};

/**
 * Runs work that shares a key one after the other, and all other work concurrently, as much as there are slots. Topics
 * share the slots: one is reserved for each topic that has nothing running, so that work of an idle topic begins at once
 * whatever the others do, and a free slot goes to the topic that has the fewest. Within a topic, work with the same key
 * runs in the order in which it came; work that waits in one topic never delays another topic's.
 */
export class KeyedQueue {
  readonly #slots: number;
  readonly #topics = new Map<string, Topic>();
  /** Keys of what runs, whatever its topic. */
  readonly #busy = new Set<string>();
  #running = 0;
  #served = 0;

  /** @param topics all that there are: each has at least one slot, so there are more slots if there are more topics */
  constructor(slots: number, topics: readonly string[]) {
    this.#slots = Math.max(slots, new Set(topics).size);
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
        this.#end(topic, queued);
        done.resolve();
      }
    };
    const queued: QueuedWork = { keys: [...new Set(keys)], begin: () => void begin(), behind: 0 };
    for (const key of queued.keys) {
      const before = topic.byKey.get(key);
      if (before) {
        before.push(queued);
        queued.behind++;
      } else topic.byKey.set(key, [queued]);
    }
    if (queued.behind === 0) topic.ready.push(queued);
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
    const free = this.#slots - this.#running;
    const idle = all.filter(({ running }) => running === 0).length;
    const waiting = all
      .filter(({ ready, running }) => ready.length > 0 && free > (running === 0 ? 0 : idle))
      .sort((a, b) => a.running - b.running || a.servedAt - b.servedAt);
    for (const topic of waiting) {
      const at = topic.ready.findIndex(({ keys }) => keys.every((key) => !this.#busy.has(key)));
      const [queued] = at < 0 ? [] : topic.ready.splice(at, 1);
      if (!queued) continue;
      for (const key of queued.keys) this.#busy.add(key);
      this.#running++;
      topic.running++;
      topic.servedAt = ++this.#served;
      queued.begin();
      return true;
    }
    return false;
  }

  #end(topic: Topic, queued: QueuedWork): void {
    this.#running--;
    topic.running--;
    for (const key of queued.keys) {
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
