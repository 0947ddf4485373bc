/**
 * Runs works that share a lane one after the other, in the order in which they came, and all others beside one another,
 * `atOnce` at most. A work that waits for its lane takes no place from those that could run.
 */
export class WorkLanes {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  /** By lane, the end of the last work that was put into it. */
  readonly #tails = new Map<string, Promise<void>>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** @param work must not reject */
  run(lanes: readonly string[], work: () => Promise<void>): Promise<void> {
    const before = lanes.map((lane) => this.#tails.get(lane));
    const done = Promise.all(before).then(() => this.#inPlace(work));
    for (const lane of lanes) {
      this.#tails.set(lane, done);
      void done.then(() => {
        if (this.#tails.get(lane) === done) this.#tails.delete(lane);
      });
    }
    return done;
  }

  async #inPlace(work: () => Promise<void>): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await work();
    } finally {
      // A place that somebody waits for is handed on: it is free to nobody in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
