import type { ObjectReference } from '../../core/record.ts';
import {
  bodyReferenceOf,
  DEAD_LETTER_HEADERS as NAMES,
} from '../../delivery/dead-letter/dead-letter-headers.ts';

/** A record of the dead-letter topic, without its value, which may be large. */
export type DeadLetterRecord = {
  readonly partition: number;
  readonly offset: bigint;
  /** Milliseconds since 1970, when it was written. */
  readonly timestamp: number;
  readonly key: string | null;
  readonly bytes: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** Position of a record in the dead-letter topic. */
export type DeadLetterPosition = Pick<DeadLetterRecord, 'partition' | 'offset'>;

/** `partition:offset`: how an operator names a dead-letter record. */
export const positionText = ({ partition, offset }: DeadLetterPosition): string => `${partition}:${offset}`;

/** The position that a text names, or null if it names none. */
export function parsePosition(text: string): DeadLetterPosition | null {
  const match = /^(\d{1,9}):(\d{1,18})$/.exec(text);
  return match ? { partition: Number(match[1]), offset: BigInt(match[2] ?? 0) } : null;
}

/** One dead-lettered delivery or command. A large body is stored in several records, its parts. */
export type DeadLetter = {
  /** Position of its first part, which is also its name. */
  readonly at: string;
  /** The records to join for the original bytes, in order. */
  readonly positions: readonly DeadLetterPosition[];
  /** All its records, duplicates included. */
  readonly copies: readonly DeadLetterPosition[];
  /** Numbers of the missing parts, counted from 1: at most the first hundred. */
  readonly missing: readonly number[];
  readonly parts: number;
  /** Milliseconds since 1970, when its first part was written. */
  readonly time: number;
  /** Size of the original bytes, without missing parts. */
  readonly bytes: number;
  /** Where the original bytes are, if the record does not hold them. */
  readonly object: ObjectReference | null;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** When it was last redriven, and to which record; null if it never was. */
  readonly redriven: { readonly at: number; readonly to: string } | null;
};

/** `open` can be redriven; `incomplete` cannot, because parts are missing. */
export type DeadLetterState = 'open' | 'redriven' | 'incomplete';

export function stateOf(deadLetter: DeadLetter): DeadLetterState {
  if (deadLetter.redriven) return 'redriven';
  return deadLetter.missing.length > 0 ? 'incomplete' : 'open';
}

/** How often the delivery has been redriven so far. */
export const redrivesOf = ({ headers }: Pick<DeadLetter, 'headers'>): number =>
  Number(headers[NAMES.redriveCount] ?? 0) || 0;

type Marker = { readonly at: number; readonly to: string };

/**
 * Groups the records of the topic into dead-lettered deliveries and commands: joins parts, recognizes duplicate records,
 * and applies the markers that redrives have written. Records of different partitions may come in any order.
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

  /** Sorted by the time when they were written. */
  deadLetters(): DeadLetter[] {
    const all = [...this.#groups.values()].map((records) => this.#join(records));
    const whole = new Set(all.filter(isWhole).map(eventIdOf));
    // A delivery whose parts could not all be stored was answered 503 and sent again: parts of the first attempt are no loss.
    const deadLetters = all.filter(
      (deadLetter) => stateOf(deadLetter) !== 'incomplete' || !whole.has(eventIdOf(deadLetter)),
    );
    return deadLetters.sort((a, b) => a.time - b.time || comparePositions(a.positions[0], b.positions[0]));
  }

  #takeMarker(of: string, { timestamp, headers }: DeadLetterRecord): void {
    const marker = { at: timestamp, to: headers[NAMES.redrivenTo] ?? '' };
    for (const position of of.split(',')) if (parsePosition(position)) this.#markers.set(position, marker);
  }

  #join(records: readonly DeadLetterRecord[]): DeadLetter {
    const { count, parts } = partsOf(records);
    const numbers = [...parts.keys()].sort((a, b) => a - b);
    const present = numbers.map((number) => parts.get(number) as DeadLetterRecord);
    const [first = records[0] as DeadLetterRecord] = present;
    const markers = records.flatMap((record) => this.#markers.get(positionText(record)) ?? []);
    const object = bodyReferenceOf(first.headers);
    return {
      at: positionText(first),
      positions: present.map(toPosition),
      copies: records.map(toPosition),
      missing: missingOf(count, parts),
      parts: count,
      time: first.timestamp,
      bytes: object?.bytes ?? present.reduce((sum, part) => sum + part.bytes, 0),
      object,
      key: first.key,
      headers: first.headers,
      redriven: markers.at(-1) ?? null,
    };
  }
}

/** The number of parts that the headers claim, and by part number the first record of each. */
function partsOf(records: readonly DeadLetterRecord[]) {
  const count = numberOf(records[0]?.headers[NAMES.parts]);
  const parts = new Map<number, DeadLetterRecord>();
  for (const record of records) {
    const number = numberOf(record.headers[NAMES.part]);
    if (number <= count && !parts.has(number)) parts.set(number, record);
  }
  return { count, parts };
}

/** Missing parts that are listed. A header may claim any number of parts, and must not fill the memory. */
const MAX_NAMED_PARTS = 100;

function missingOf(count: number, parts: ReadonlyMap<number, unknown>): number[] {
  const missing: number[] = [];
  for (let number = 1; number <= count && missing.length < MAX_NAMED_PARTS; number++)
    if (!parts.has(number)) missing.push(number);
  return missing;
}

/** No delivery has more parts than this: a header that claims more is ignored. */
const MAX_PARTS = 100_000;

/** A record without these headers, such as a command's, is one part. */
function numberOf(text: string | undefined): number {
  const number = Number(text);
  return Number.isInteger(number) && number >= 1 && number <= MAX_PARTS ? number : 1;
}

/**
 * The same for all records of one dead-lettered delivery, and for no other: event id, time of receipt, number of parts and redrive
 * of a delivery; the original position of a command. A foreign record is identified by its own position.
 */
function identityOf(record: DeadLetterRecord): string {
  const { headers } = record;
  const names =
    headers[NAMES.eventId] !== undefined
      ? [NAMES.eventId, NAMES.receivedAt, NAMES.parts, NAMES.redrivenAt]
      : [NAMES.topic, NAMES.partition, NAMES.offset, NAMES.redrivenAt];
  if (headers[NAMES.stage] === undefined) return positionText(record);
  return JSON.stringify(names.map((name) => headers[name] ?? null));
}

const toPosition = ({ partition, offset }: DeadLetterPosition): DeadLetterPosition => ({ partition, offset });
const isWhole = (deadLetter: DeadLetter) => deadLetter.missing.length === 0;
const eventIdOf = (deadLetter: DeadLetter) => deadLetter.headers[NAMES.eventId];

function comparePositions(a: DeadLetterPosition | undefined, b: DeadLetterPosition | undefined): number {
  if (!a || !b) return 0;
  return a.partition - b.partition || Number(a.offset - b.offset);
}
