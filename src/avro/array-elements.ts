import { CLOSE_ARRAY, type JsonScanner } from '../core/json-scanner.ts';
import { AvroWriter } from './avro-writer.ts';
import type { DriftSink, Plan, WrittenElements } from './plan.ts';
import type { ArrayReader, SpanFinder } from './span-finder.ts';
import { ValueWriter } from './value-writer.ts';

/**
 * Bytes that are kept for the next array: most need no more, also of the many that stand in the elements of a long list. What a
 * longer one needed is given back.
 */
const KEPT_BYTES = 16_384;

/**
 * The elements of one array of a message. They are written while they are walked over, and laid into the record when its
 * turn comes: a long list is most of a large message, and to walk over it twice would be half the work again.
 */
export class ArrayElements implements ArrayReader, WrittenElements {
  end = 0;
  readonly #finder: SpanFinder;
  readonly #plan: Plan;
  readonly #drift = new Map<string, number>();
  readonly #out = new AvroWriter(KEPT_BYTES);
  #count = 0;

  constructor(finder: SpanFinder, plan: Plan) {
    this.#finder = finder;
    this.#plan = plan;
  }

  read(scanner: JsonScanner, from: number): void {
    this.#drift.clear();
    this.#out.clear();
    this.#out.likely = scanner.bytes.length - from;
    this.#count = 0;
    let at: number | null = scanner.skipSpace(from + 1);
    let end = at;
    if (scanner.bytes[at] === CLOSE_ARRAY) at = null;
    const writing = new ValueWriter(scanner.bytes, this.#out, this.#noteDrift);
    while (at !== null) {
      end = this.#finder.find(scanner, at);
      writing.nullable(this.#plan, this.#finder);
      this.#count++;
      at = scanner.toNext(end, CLOSE_ARRAY);
    }
    this.end = scanner.skipSpace(end) + 1;
  }

  /** As an Avro array: one block, where there are elements, and the end. */
  writeTo(out: AvroWriter, drift: DriftSink): void {
    if (this.#count > 0) out.long(this.#count);
    out.append(this.#out);
    out.byte(0);
    for (const [field, count] of this.#drift) for (let n = 0; n < count; n++) drift(field);
    this.#out.clear();
  }

  drop(): void {
    this.#out.clear();
    this.#finder.drop();
  }

  readonly #noteDrift = (field: string): void => {
    this.#drift.set(field, (this.#drift.get(field) ?? 0) + 1);
  };
}
