/** What reads from Kafka, the most urgent first. */
export type Urgency = 'search' | 'tail' | 'index' | 'scan';

const ORDER: readonly Urgency[] = ['search', 'tail', 'index', 'scan'];

/**
 * One reading from Kafka after the other: an answer may be as large as the largest record, and two of them would not fit
 * into the console's memory. Whoever waits for a page goes before the index.
 */
export class Turns {
  readonly #waiting = new Map<Urgency, (() => void)[]>(ORDER.map((urgency) => [urgency, []]));
  #isTaken = false;

  async run<T>(urgency: Urgency, work: () => Promise<T>): Promise<T> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.get(urgency)?.push(resolve));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      const first = ORDER.find((one) => this.#waiting.get(one)?.length);
      const next = first && this.#waiting.get(first)?.shift();
      if (next) next();
      else this.#isTaken = false;
    }
  }
}
