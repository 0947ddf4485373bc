import { CLOSE_ARRAY, type JsonScanner, OPEN_OBJECT } from '../core/json-scanner.ts';
import { AvroWriter, TooLong } from './avro-writer.ts';
import type { ArrayReader, SpanFinder } from './span-finder.ts';
import { DriftCounts, type DriftSink, type Plan, ValueWriter, type WrittenElements } from './value-writer.ts';

/** Plans, with the finder of their values and what the lists among those may take. */
export type Compiled<T> = { readonly finder: SpanFinder; readonly plans: T; readonly memory: ListMemory };

/**
 * Bytes that are kept for the next array: most need no more, also of the many that stand in the elements of a long list. What a
 * longer one needed is given back.
 */
const KEPT_BYTES = 16_384;

/**
 * What the elements of the lists of one message, or of one element, take while they are kept. Two bytes of JSON become as many as
 * an element has fields, so the length of the message does not bound it.
 */
export class ListMemory {
  /** A longer list is not kept, but only walked over. */
  maxEach = Number.POSITIVE_INFINITY;
  /** Nor is one for which the others leave too little. */
  maxAll = Number.POSITIVE_INFINITY;
  /** Bytes of those that are kept. */
  taken = 0;
}

/**
 * The elements of one array of a message. They are written while they are walked over, and laid into the record when its
 * turn comes: a long list is most of a large message, and to walk over it twice would be half the work again.
 */
export class ArrayElements implements ArrayReader, WrittenElements {
  end = 0;
  readonly #finder: SpanFinder;
  readonly #plan: Plan;
  readonly #memory: ListMemory;
  /** Of the lists in an element. */
  readonly #inner: ListMemory;
  readonly #drift = new DriftCounts();
  readonly #out = new AvroWriter(KEPT_BYTES);
  #count = 0;
  /** Elements that are no objects, as records must be: each is a record of nulls, and drift. */
  #strays = 0;
  #isTooLong = false;
  /** Bytes of `#memory`. */
  #taken = 0;

  constructor({ finder, plans: plan, memory: inner }: Compiled<Plan>, memory: ListMemory) {
    this.#finder = finder;
    this.#plan = plan;
    this.#inner = inner;
    this.#memory = memory;
  }

  read(scanner: JsonScanner, from: number): void {
    this.#clear();
    const { maxEach, maxAll, taken } = this.#memory;
    const maxBytes = Math.min(maxEach, maxAll - taken);
    this.#inner.maxEach = this.#inner.maxAll = this.#out.maxBytes = maxBytes;
    this.#out.likely = scanner.bytes.length - from;
    let at: number | null = scanner.skipSpace(from + 1);
    let end = at;
    if (scanner.bytes[at] === CLOSE_ARRAY) at = null;
    const writing = new ValueWriter(scanner.bytes, this.#out, this.#drift.add);
    while (at !== null) {
      end = this.#isTooLong ? scanner.skipValue(at) : this.#write(scanner, at, writing);
      at = scanner.toNext(end, CLOSE_ARRAY);
    }
    this.end = scanner.skipSpace(end) + 1;
    if (this.#strays > 0) this.#drift.add(this.#plan.path, this.#strays);
    this.#taken = this.#out.length;
    this.#memory.taken += this.#taken;
  }

  get bytes(): number {
    return this.#isTooLong ? Number.POSITIVE_INFINITY : this.#out.length;
  }

  /** As an Avro array: one block, where there are elements, and the end. @throws TooLong where they were not kept */
  writeTo(out: AvroWriter, drift: DriftSink): void {
    if (this.#isTooLong) throw new TooLong();
    if (this.#count > 0) out.long(this.#count);
    out.append(this.#out);
    out.byte(0);
    this.#drift.reportTo(drift);
  }

  drop(): void {
    this.#clear();
    this.#finder.drop();
  }

  #write(scanner: JsonScanner, at: number, writing: ValueWriter): number {
    const isStray = this.#plan.kind === 'record' && scanner.bytes[at] !== OPEN_OBJECT;
    // Nothing in it counts.
    const end = isStray ? scanner.skipValue(at) : this.#finder.find(scanner, at);
    if (isStray) this.#strays++;
    const before = this.#out.length;
    this.#isTooLong = !this.#fits(writing, isStray);
    this.#count++;
    if (this.#isTooLong) this.#out.clear();
    // What long lists in the element have become is here now.
    if (this.#isTooLong || this.#out.length - before > KEPT_BYTES) this.#finder.drop();
    return end;
  }

  /** Writes the element; false where it is too much. */
  #fits(writing: ValueWriter, isStray: boolean): boolean {
    try {
      if (isStray) this.#nulls();
      else writing.item(this.#plan, this.#finder);
      return this.#out.length <= this.#out.maxBytes;
    } catch (error) {
      if (error instanceof TooLong) return false;
      throw error;
    }
  }

  #nulls(): void {
    if (this.#plan.kind === 'record') this.#out.zeros(this.#plan.fields.length);
  }

  #clear(): void {
    this.#drift.clear();
    this.#out.clear();
    this.#count = 0;
    this.#strays = 0;
    this.#isTooLong = false;
    this.#memory.taken -= this.#taken;
    this.#taken = 0;
  }
}
