import { BACKSLASH, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../core/json-scanner.ts';
import type { AvroWriter } from './avro-writer.ts';
import type { Convert, ValueType } from './conversions.ts';
import type { SpanFinder } from './span-finder.ts';

/** Writes the values of one message by their plans. */
export class ValueWriter {
  readonly #bytes: Buffer;
  readonly #out: AvroWriter;
  readonly #drift: DriftSink;
  readonly #omitted: ReadonlySet<Plan> | undefined;

  /** @param omitted what is null, whatever stands there */
  constructor(bytes: Buffer, out: AvroWriter, drift: DriftSink, omitted?: ReadonlySet<Plan>) {
    this.#bytes = bytes;
    this.#out = out;
    this.#drift = drift;
    this.#omitted = omitted;
  }

  /** Of the union of null and the plan's type. */
  nullable(plan: Plan, finder: SpanFinder): void {
    if (this.#isNull(plan, finder)) this.#out.byte(0);
    else this.#fitting(plan, finder);
  }

  /** Of an array. A record among them cannot be null: it must be an object. */
  item(plan: Plan, finder: SpanFinder): void {
    if (plan.kind === 'record') this.#fields(plan.fields, finder);
    else this.nullable(plan, finder);
  }

  #isNull(plan: Plan, { starts }: SpanFinder): boolean {
    const start = starts[plan.slot] as number;
    return start < 0 || this.#bytes[start] === 0x6e || this.#omitted?.has(plan) === true;
  }

  /** Null, and drift, where the value doesn't fit. */
  #fitting(plan: Plan, finder: SpanFinder): void {
    const out = this.#out;
    const before = out.length;
    out.byte(2);
    if (this.#write(plan, finder, finder.starts[plan.slot] as number)) return;
    out.length = before;
    out.byte(0);
    this.#drift(plan.path);
  }

  /** Of a record. Many are mostly nulls, which are written together. */
  #fields(fields: readonly Plan[], finder: SpanFinder): void {
    let nulls = 0;
    for (let n = 0; n < fields.length; n++) {
      const field = fields[n] as Plan;
      if (this.#isNull(field, finder)) nulls++;
      else {
        if (nulls > 0) this.#out.zeros(nulls);
        nulls = 0;
        this.#fitting(field, finder);
      }
    }
    if (nulls > 0) this.#out.zeros(nulls);
  }

  /** False where the value doesn't fit. */
  #write(plan: Plan, finder: SpanFinder, start: number): boolean {
    const sign = this.#bytes[start];
    if (plan.kind === 'record') {
      if (sign !== OPEN_OBJECT) return false;
      this.#fields(plan.fields, finder);
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
    const text = bytes.toString('utf8', start, end);
    const value = convert(JSON.parse(text), text);
    if (value === undefined) return false;
    if (type === 'string') this.#out.string(value as string);
    else if (type === 'boolean') this.#out.byte(value === true ? 1 : 0);
    else if (type === 'float') this.#out.float(value as number);
    else if (type === 'double') this.#out.double(value as number);
    else this.#out.long(value as number);
    return true;
  }
}

/** Called for values that are there and don't fit, by the dotted path of their field; for one value where `count` is omitted. */
export type DriftSink = (field: string, count?: number) => void;

/** Keeps drift until it is known whether it counts, by field: a message can have millions of values that don't fit. */
export class DriftCounts {
  /** Most messages have none. */
  #counts: Map<string, number> | undefined;

  readonly add: DriftSink = (field, count = 1) => {
    this.#counts ??= new Map();
    this.#counts.set(field, (this.#counts.get(field) ?? 0) + count);
  };

  get isEmpty(): boolean {
    return (this.#counts?.size ?? 0) === 0;
  }

  clear(): void {
    this.#counts?.clear();
  }

  reportTo(drift: DriftSink): void {
    this.#counts?.forEach((count, field) => {
      drift(field, count);
    });
  }
}

/** How a shape is written from where its value stands. */
export type Plan = { readonly slot: number; readonly path: string } & (
  | { readonly kind: 'value'; readonly type: ValueType; readonly convert: Convert }
  | { readonly kind: 'record'; readonly fields: readonly Plan[] }
  | { readonly kind: 'array'; readonly elements: WrittenElements }
);

/** What the elements of the array that was walked over last have become. */
export type WrittenElements = {
  /** That `writeTo` writes, but for the count; Infinity where there are too many to be kept. */
  readonly bytes: number;
  writeTo(out: AvroWriter, drift: DriftSink): void;
};
