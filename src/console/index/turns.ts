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
  #pages = 0;

  async run<T>(urgency: Urgency, work: () => Promise<T>): Promise<T> {
    if (this.#isTaken || this.#mustWait(urgency))
      await new Promise<void>((resolve) => this.#waiting.get(urgency)?.push(resolve));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
      this.#next();
    }
  }

  /** Does what a page waits for, several readings perhaps: the index and scans wait meanwhile. */
  async page<T>(work: () => Promise<T>): Promise<T> {
    this.#pages++;
    try {
      return await work();
    } finally {
      this.#pages--;
      if (!this.#isTaken) this.#next();
    }
  }

  #next(): void {
    const first = ORDER.find((one) => this.#waiting.get(one)?.length && !this.#mustWait(one));
    const next = first && this.#waiting.get(first)?.shift();
    if (!next) return;
    // Nobody takes it before the one that waits does.
    this.#isTaken = true;
    next();
  }

  #mustWait = (urgency: Urgency): boolean => this.#pages > 0 && (urgency === 'index' || urgency === 'scan');
}
