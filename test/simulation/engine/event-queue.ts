/** Something that will happen. */
export type Due = {
  /** Milliseconds of simulated time. */
  at: number;
  /** The order in which it was scheduled: decides between two of one time. */
  seq: number;
  isCancelled: boolean;
};

/** What will happen, the earliest first; of one time, what was scheduled first. A binary heap. */
export class EventQueue<D extends Due> {
  readonly #heap: D[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(due: D): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(due, heap[parent] as D)) break;
      heap[at] = heap[parent] as D;
      at = parent;
    }
    heap[at] = due;
  }

  /** Takes the first one that was not cancelled. */
  pop(): D | undefined {
    for (;;) {
      const first = this.#take();
      if (!first?.isCancelled) return first;
    }
  }

  #take(): D | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as D, heap[child] as D)) child++;
      if (!isBefore(heap[child] as D, last)) break;
      heap[at] = heap[child] as D;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const isBefore = (one: Due, other: Due) => one.at < other.at || (one.at === other.at && one.seq < other.seq);
