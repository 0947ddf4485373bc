import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';

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

type Marker = { readonly at: number; readonly to: string };

/**
 * The dead letters that a topic's records make up: parts joined to one, records that were written twice told apart from
 * letters that came twice, and each marked that a redrive has stored. Records may come in any order between partitions.
 */
export class DeadLetterIndex {
  readonly #groups = new Map<string, DeadLetterRecord[]>();
  readonly #markers = new Map<string, Marker>();

  take(record: DeadLetterRecord): void {
    const of = record.headers[NAMES.redriveOf];
    if (of !== undefined) return this.#takeMarker(of, record);
    const identity = identityOf(record);
    const group = this.#groups.get(identity);
    if (group) group.push(record);
    else this.#groups.set(identity, [record]);
  }

  /** In the order of their writing. */
  letters(): DeadLetter[] {
    const all = [...this.#groups.values()].map((records) => this.#join(records));
    const whole = new Set(all.filter(isWhole).map(eventIdOf));
    // A delivery whose parts could not all be stored was answered 503, and came again: the first try's parts are no loss.
    const letters = all.filter((letter) => stateOf(letter) !== 'incomplete' || !whole.has(eventIdOf(letter)));
    return letters.sort((a, b) => a.time - b.time || comparePlaces(a.places[0], b.places[0]));
  }

  #takeMarker(of: string, { timestamp, headers }: DeadLetterRecord): void {
    const marker = { at: timestamp, to: headers[NAMES.redrivenTo] ?? '' };
    for (const place of of.split(',')) if (parsePlace(place)) this.#markers.set(place, marker);
  }

  #join(records: readonly DeadLetterRecord[]): DeadLetter {
    const { count, parts } = partsOf(records);
    const numbers = [...parts.keys()].sort((a, b) => a - b);
    const present = numbers.map((number) => parts.get(number) as DeadLetterRecord);
    const [first = records[0] as DeadLetterRecord] = present;
    const markers = records.flatMap((record) => this.#markers.get(placeText(record)) ?? []);
    return {
      at: placeText(first),
      places: present.map(toPlace),
      copies: records.map(toPlace),
      missing: missingOf(count, parts),
      parts: count,
      time: first.timestamp,
      bytes: present.reduce((sum, part) => sum + part.bytes, 0),
      key: first.key,
      headers: first.headers,
      redriven: markers.at(-1) ?? null,
    };
  }
}

/** How many parts there are by the records' own word, and by number the first record of each that is there. */
function partsOf(records: readonly DeadLetterRecord[]) {
  const count = numberOf(records[0]?.headers[NAMES.parts]);
  const parts = new Map<number, DeadLetterRecord>();
  for (const record of records) {
    const number = numberOf(record.headers[NAMES.part]);
    if (number <= count && !parts.has(number)) parts.set(number, record);
  }
  return { count, parts };
}

/** Missing parts that are named: a header may claim any number, and costs no more for it. */
const MOST_NAMED = 100;

function missingOf(count: number, parts: ReadonlyMap<number, unknown>): number[] {
  const missing: number[] = [];
  for (let number = 1; number <= count && missing.length < MOST_NAMED; number++)
    if (!parts.has(number)) missing.push(number);
  return missing;
}

/** A delivery has no more parts than this: a header that says so is no count. */
const MOST_PARTS = 100_000;

/** Of what says nothing of parts, which a command does not, there is one. */
function numberOf(text: string | undefined): number {
  const number = Number(text);
  return Number.isInteger(number) && number >= 1 && number <= MOST_PARTS ? number : 1;
}

/**
 * What the records of one letter have in common, and no other letter has: the same delivery, cut the same way, parked at
 * the same time. A command is told by its place; whatever else stands in the topic by its own.
 */
function identityOf(record: DeadLetterRecord): string {
  const { headers } = record;
  const told =
    headers[NAMES.eventId] !== undefined
      ? [NAMES.eventId, NAMES.receivedAt, NAMES.parts, NAMES.redrivenAt]
      : [NAMES.topic, NAMES.partition, NAMES.offset, NAMES.redrivenAt];
  if (headers[NAMES.stage] === undefined) return placeText(record);
  return JSON.stringify(told.map((name) => headers[name] ?? null));
}

const toPlace = ({ partition, offset }: LetterPlace): LetterPlace => ({ partition, offset });
const isWhole = (letter: DeadLetter) => letter.missing.length === 0;
const eventIdOf = (letter: DeadLetter) => letter.headers[NAMES.eventId];

function comparePlaces(a: LetterPlace | undefined, b: LetterPlace | undefined): number {
  if (!a || !b) return 0;
  return a.partition - b.partition || Number(a.offset - b.offset);
}
