import { BACKSLASH, OPEN_ARRAY, QUOTE } from '../core/json-scanner.ts';
import type { SpanFinder } from './span-finder.ts';
import { DriftCounts, type DriftSink, type Plan } from './value-writer.ts';

export type Fitting = {
  readonly maxBytes: number;
  readonly drift: DriftSink;
  /** The record with these values left out. */
  readonly write: (omitted: ReadonlySet<Plan>, drift: DriftSink) => Buffer;
};

/** A record, and the dotted paths of what was left out so that it fits. */
export type FittedRecord = { readonly value: Buffer; readonly omitted: readonly string[] };

/** What a path in `omitted` takes beside its characters, at the most. */
const PATH_OVERHEAD = 4;

/**
 * Writes a record that fits, if it can: the largest values are left out, at whatever depth of nested records. An array
 * counts as one value: without some of its elements, it would look like a shorter one.
 */
export function fitRecord(
  plans: readonly Plan[],
  finder: SpanFinder,
  message: Buffer,
  { maxBytes, drift, write }: Fitting,
): FittedRecord {
  const values = valuesOf(plans)
    .map((plan) => ({ plan, bytes: avroBytes(plan, finder, message, maxBytes) }))
    .filter(({ plan, bytes }) => bytes > plan.path.length + PATH_OVERHEAD)
    .sort((a, b) => b.bytes - a.bytes);
  const omitted = new Set<Plan>();
  let excess = 0;
  for (;;) {
    for (let next = values[0]; next && (excess > 0 || next.bytes > maxBytes); next = values[0]) {
      values.shift();
      omitted.add(next.plan);
      excess -= next.bytes - next.plan.path.length - PATH_OVERHEAD;
    }
    const drifted = new DriftCounts();
    const record = write(omitted, drifted.add);
    excess = record.length - maxBytes;
    if (excess > 0 && values.length > 0) continue;
    drifted.reportTo(drift);
    return { value: record, omitted: [...omitted].map(({ path }) => path) };
  }
}

/** The values and arrays, those in records too. */
const valuesOf = (plans: readonly Plan[]): Plan[] =>
  plans.flatMap((plan) => (plan.kind === 'record' ? valuesOf(plan.fields) : [plan]));

type ListPlan = Extract<Plan, { readonly kind: 'array' }>;

/** Those of lists, in records too. */
export const listPlansOf = (plans: readonly Plan[]): ListPlan[] =>
  valuesOf(plans).filter((plan) => plan.kind === 'array');

/** What a list takes in the record; Infinity where it was not kept. */
export function listBytes({ slot, elements }: ListPlan, { starts }: SpanFinder, message: Buffer): number {
  const start = starts[slot] as number;
  return start >= 0 && message[start] === OPEN_ARRAY ? elements.bytes : 0;
}

/** Each character takes at most this many bytes more in JSON than in UTF-8: \\u0061 is an a. */
const LONGEST_ESCAPE = 6;

/** What a value takes in the record. Exact for texts and arrays that may fit; other values are too small to matter. */
function avroBytes(plan: Plan, finder: SpanFinder, message: Buffer, maxBytes: number): number {
  const start = finder.starts[plan.slot] as number;
  if (start < 0) return 0;
  if (plan.kind === 'array') return listBytes(plan, finder, message);
  if (plan.kind === 'record' || plan.type !== 'string' || message[start] !== QUOTE) return 0;
  const end = finder.ends[plan.slot] as number;
  const text = message.subarray(start, end);
  if (text.length > LONGEST_ESCAPE * maxBytes || !text.includes(BACKSLASH)) return text.length - 2;
  const value: string = JSON.parse(text.toString());
  // Half a surrogate pair is no text: it is null, and drift.
  return value.isWellFormed() ? Buffer.byteLength(value) : 0;
}
