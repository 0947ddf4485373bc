import { DEAD_LETTER_HEADERS as NAMES } from './store-dead-letter.ts';

/** A record of the dead-letter topic without its value, which may be large: what it says about itself. */
export type DeadLetterRecord = {
  readonly partition: number;
  readonly offset: bigint;
  /** Milliseconds since 1970, when it was written. */
  readonly timestamp: number;
  readonly key: string | null;
  readonly bytes: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** Where a record stands in the dead-letter topic. */
export type LetterPlace = Pick<DeadLetterRecord, 'partition' | 'offset'>;

/** `partition:offset`, by which an operator names a dead letter. */
export const placeText = ({ partition, offset }: LetterPlace): string => `${partition}:${offset}`;

/** What is known of a place's text, or null where it is none. */
export function parsePlace(text: string): LetterPlace | null {
  const match = /^(\d{1,9}):(\d{1,18})$/.exec(text);
  return match ? { partition: Number(match[1]), offset: BigInt(match[2] ?? 0) } : null;
}

/** One delivery or command among the dead letters, whole: of however many records it is made. */
export type DeadLetter = {
  /** The place of its first part, by which it is named. */
  readonly at: string;
  /** The records to join for the original bytes, in order. */
  readonly places: readonly LetterPlace[];
  /** All records of it, those that came twice among them. */
  readonly copies: readonly LetterPlace[];
  /** Numbers of parts that are not there, from 1; the first hundred of them. */
  readonly missing: readonly number[];
  readonly parts: number;
  /** Milliseconds since 1970, when its first part was written. */
  readonly time: number;
  /** Of the original bytes, as far as they are there. */
  readonly bytes: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** When it was redriven last, and where to; null while it waits. */
  readonly redriven: { readonly at: number; readonly to: string } | null;
};

/** `open` waits to be redriven, `incomplete` can't be: parts of it are missing. */
export type LetterState = 'open' | 'redriven' | 'incomplete';

export function stateOf(letter: DeadLetter): LetterState {
  if (letter.redriven) return 'redriven';
  return letter.missing.length > 0 ? 'incomplete' : 'open';
}

/** How often the letter's delivery has been redriven so far. */
export const redrivesOf = ({ headers }: Pick<DeadLetter, 'headers'>): number =>
  Number(headers[NAMES.redriveCount] ?? 0) || 0;
