import { BACKSLASH, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../core/json-scanner.ts';
import type { AvroWriter } from './avro-writer.ts';
import type { Convert, ValueType } from './event-shape.ts';
import type { DriftSink, Plan } from './plan.ts';
import type { SpanFinder } from './span-finder.ts';

/** Writes the values of one message by their plans. */
export class ValueWriter {
  readonly #bytes: Buffer;
  readonly #out: AvroWriter;
  readonly #drift: DriftSink;

  constructor(bytes: Buffer, out: AvroWriter, drift: DriftSink) {
    this.#bytes = bytes;
    this.#out = out;
    this.#drift = drift;
  }

  /** Of the union of null and the plan's type. */
  nullable(plan: Plan, finder: SpanFinder): void {
    const start = finder.starts[plan.slot] as number;
    const out = this.#out;
    if (start < 0 || this.#bytes[start] === 0x6e) return out.byte(0);
    const before = out.length;
    out.byte(2);
    if (this.#write(plan, finder, start)) return;
    out.length = before;
    out.byte(0);
    this.#drift(plan.path);
  }

  /** False where the value doesn't fit. */
  #write(plan: Plan, finder: SpanFinder, start: number): boolean {
    const sign = this.#bytes[start];
    if (plan.kind === 'record') {
      if (sign !== OPEN_OBJECT) return false;
      for (const field of plan.fields) this.nullable(field, finder);
      return true;
    }
    if (plan.kind === 'array') {
      if (sign !== OPEN_ARRAY) return false;
      plan.elements.writeTo(this.#out, this.#drift);
      return true;
    }
    if (sign === OPEN_OBJECT || sign === OPEN_ARRAY) return false;
    return this.#value(plan.type, plan.convert, start, finder.ends[plan.slot] as number);
  }

  #value(type: ValueType, convert: Convert, start: number, end: number): boolean {
    const bytes = this.#bytes;
    if (type === 'string') {
      if (bytes[start] !== QUOTE) return false;
      const before = this.#out.length;
      if (this.#out.span(bytes, start + 1, end - 1, BACKSLASH)) return true;
      this.#out.length = before;
    }
    const value = convert(JSON.parse(bytes.toString('utf8', start, end)));
    if (value === undefined) return false;
    if (type === 'string') this.#out.string(value as string);
    else if (type === 'boolean') this.#out.byte(value === true ? 1 : 0);
    else if (type === 'float') this.#out.float(value as number);
    else if (type === 'double') this.#out.double(value as number);
    else this.#out.long(value as number);
    return true;
  }
}
