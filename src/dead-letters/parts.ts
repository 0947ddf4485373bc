import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';

/** Which part of its body a record holds, counted from 1, and which attempt to store the body wrote it. */
export type PartLabel = { readonly part: number; readonly attempt: string };

/** Of a record that holds none of the parts that there are: everything else comes before it. */
export const NO_PART = Number.MAX_SAFE_INTEGER;

type Headed = { readonly headers: Readonly<Record<string, string>> };

/** @param count of parts, by the first record of the delivery */
export function labelOf({ headers }: Headed, count: number): PartLabel {
  const part = numberOf(headers[NAMES.part]);
  return { part: part <= count ? part : NO_PART, attempt: headers[NAMES.partsOf] ?? '' };
}

/**
 * The records to join, in order: the first of each part, all of one attempt, since each attempt seals the body anew and may split it
 * at other places. It is the first that stored all of them, or else most.
 */
export function joinable<T extends PartLabel>(records: readonly T[]): T[] {
  const attempts = new Map<string, Map<number, T>>();
  for (const record of records) {
    const parts = attempts.get(record.attempt) ?? new Map<number, T>();
    attempts.set(record.attempt, parts);
    if (record.part !== NO_PART && !parts.has(record.part)) parts.set(record.part, record);
  }
  let most: ReadonlyMap<number, T> = new Map();
  for (const parts of attempts.values()) if (parts.size > most.size) most = parts;
  return [...most.values()].sort((a, b) => a.part - b.part);
}

/** Which parts have come, by the attempt that stored them. */
export class PresentParts {
  readonly #attempts = new Map<string, Set<number>>();

  add({ part, attempt }: PartLabel): void {
    if (part === NO_PART) return;
    const parts = this.#attempts.get(attempt) ?? new Set();
    this.#attempts.set(attempt, parts.add(part));
  }

  /** Whether one attempt has stored all. */
  areAll(count: number): boolean {
    return [...this.#attempts.values()].some(({ size }) => size >= count);
  }
}

/** Missing parts that are listed. A header may claim any number of parts, and must not fill the memory. */
const MAX_NAMED_PARTS = 100;

export function missingOf(count: number, present: readonly PartLabel[]): number[] {
  const parts = new Set(present.map(({ part }) => part));
  const missing: number[] = [];
  for (let number = 1; number <= count && missing.length < MAX_NAMED_PARTS; number++)
    if (!parts.has(number)) missing.push(number);
  return missing;
}

/** No delivery has more parts than this: a header that claims more is ignored. */
const MAX_PARTS = 100_000;

/** A record without these headers, such as a command's, is one part. */
export function numberOf(text: string | undefined): number {
  const number = Number(text);
  return Number.isInteger(number) && number >= 1 && number <= MAX_PARTS ? number : 1;
}
