/** One request and what came of it. */
export type Answer = {
  readonly entity: number;
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** Until the answer was there in full, or the connection failed. */
  readonly tookMs: number;
  /** 0 where no answer came: that is no acknowledgement. */
  readonly status: number;
  /** Whether the answer says that it is in the spool. */
  readonly spooled: boolean;
};

const COLUMNS = 6;

/** All answers of a run, a row of numbers each: millions of objects would be too many, and these travel between threads. */
export class Answers {
  #cells: Float64Array<ArrayBuffer>;
  #count: number;

  constructor(cells = new Float64Array(COLUMNS * 1024), count = 0) {
    this.#cells = cells;
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }

  add({ entity, number, sentAt, tookMs, status, spooled }: Answer): void {
    if (this.#cells.length === this.#count * COLUMNS) {
      const larger = new Float64Array(this.#cells.length * 2);
      larger.set(this.#cells);
      this.#cells = larger;
    }
    this.#cells.set([entity, number, sentAt, tookMs, status, spooled ? 1 : 0], this.#count * COLUMNS);
    this.#count++;
  }

  *[Symbol.iterator](): Generator<Answer> {
    for (let row = 0; row < this.#count; row++) {
      const [entity = 0, number = 0, sentAt = 0, tookMs = 0, status = 0, spooled = 0] = this.#cells.subarray(
        row * COLUMNS,
        (row + 1) * COLUMNS,
      );
      yield { entity, number, sentAt, tookMs, status, spooled: spooled === 1 };
    }
  }

  /** What is sent to another thread, which makes it anew with `of`. */
  get rows(): { cells: Float64Array<ArrayBuffer>; count: number } {
    return { cells: this.#cells, count: this.#count };
  }

  static of({ cells, count }: Answers['rows']): Answers {
    return new Answers(cells, count);
  }
}
