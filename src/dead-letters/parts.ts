import { sha256Of } from '../crypto/ids.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';

/** Which part of its body a record holds, counted from 1, and which attempt to store the body wrote it. */
export type PartLabel = { readonly part: number; readonly attempt: string };

/** Of a record that holds none of the parts that there are: everything else comes before it. */
export const NO_PART = Number.MAX_SAFE_INTEGER;

/** Hookline writes 32. A longer one is somebody else's, and is held as its hash. */
const MAX_NAME_CHARACTERS = 64;

type Headed = { readonly headers: Readonly<Record<string, string>> };

/** @param count of parts, by the first record of the delivery */
export function labelOf({ headers }: Headed, count: number): PartLabel {
  const part = numberOf(headers[NAMES.part]);
  const { [NAMES.partsOf]: name = '' } = headers;
  const attempt = name.length <= MAX_NAME_CHARACTERS ? name : sha256Of(Buffer.from(name));
  return { part: part <= count ? part : NO_PART, attempt };
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

/** No delivery is tried so often: names of more attempts are somebody else's. */
const MAX_ATTEMPTS = 1_000;

/** Which parts of a delivery have come, by the attempt that stored them. */
export class PresentParts {
  /** Of each attempt. */
  readonly count: number;
  readonly #attempts = new Map<string, Set<number>>();
  #isWhole = false;

  constructor(count: number) {
    this.count = count;
  }

  add({ part, attempt }: PartLabel): void {
    const isKnown = this.#attempts.has(attempt);
    if (part === NO_PART || (!isKnown && this.#attempts.size >= MAX_ATTEMPTS)) return;
    const parts = this.#attempts.get(attempt) ?? new Set();
    this.#attempts.set(attempt, parts.add(part));
    this.#isWhole ||= parts.size >= this.count;
  }

  /** Whether one attempt has stored all of them. */
  get isWhole(): boolean {
    return this.#isWhole;
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
