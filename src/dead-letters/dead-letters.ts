import type { ObjectReference } from '../core/record.ts';
import {
  bodyReferenceOf,
  DEAD_LETTER_HEADERS as NAMES,
} from '../delivery/dead-letter/dead-letter-headers.ts';
import { joinable, labelOf, missingOf, numberOf } from './parts.ts';

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
  readonly redriven: Redriven | null;
  /** When it was last dismissed, by whom and why; null if it never was. */
  readonly dismissed: Dismissed | null;
};

/** Times in milliseconds since 1970. */
export type Redriven = { readonly at: number; readonly to: string };
export type Dismissed = { readonly at: number; readonly by: string; readonly reason: string };

/** `open` can be redriven; `incomplete` cannot, because parts are missing. Neither needs anybody any more once it is `redriven` or `dismissed`. */
export type DeadLetterState = 'open' | 'redriven' | 'dismissed' | 'incomplete';

export function stateOf(deadLetter: Pick<DeadLetter, 'redriven' | 'dismissed' | 'missing'>): DeadLetterState {
  if (deadLetter.redriven) return 'redriven';
  if (deadLetter.dismissed) return 'dismissed';
  return deadLetter.missing.length > 0 ? 'incomplete' : 'open';
}

/** How often the delivery has been redriven so far. */
export const redrivesOf = ({ headers }: Pick<DeadLetter, 'headers'>): number =>
  Number(headers[NAMES.redriveCount] ?? 0) || 0;

/** Positions that are read of a marker; Hookline writes fewer. A header may hold millions. */
const MAX_MARKED = 100;

type Marks = { redriven?: Redriven; dismissed?: Dismissed };

/** Whether a record says what became of another one. */
export const isMarker = ({ headers }: Pick<DeadLetterRecord, 'headers'>): boolean =>
  headers[NAMES.redriveOf] !== undefined || headers[NAMES.dismissalOf] !== undefined;

/** Positions of the records that a marker is about. */
export function markedBy({ headers }: Pick<DeadLetterRecord, 'headers'>): string[] {
  const of = headers[NAMES.redriveOf] ?? headers[NAMES.dismissalOf] ?? '';
  const positions = of.split(',', MAX_MARKED).map(parsePosition);
  // New texts: V8 keeps the whole header alive as long as a part of it.
  return positions.filter((position) => position !== null).map(positionText);
}

/**
 * Groups the records of the topic into dead-lettered deliveries and commands: joins parts, recognizes duplicate records,
 * and applies the markers that redrives and dismissals have written. Records of different partitions may come in any order.
 */
export class DeadLetterIndex {
  readonly #groups = new Map<string, DeadLetterRecord[]>();
  /** By the position of the record that they are about. */
  readonly #marks = new Map<string, Marks>();
  #records = 0;

  take(record: DeadLetterRecord): void {
    if (isMarker(record)) return this.#takeMarker(record);
    this.#records++;
    const identity = identityOf(record);
    const group = this.#groups.get(identity);
    if (group) group.push(record);
    else this.#groups.set(identity, [record]);
  }

  /** Sorted by the time when they were written. */
  deadLetters(): DeadLetter[] {
    const all = [...this.#groups.values()].map((records) => this.#join(records));
    return this.#withoutRepeated(all).sort(byTime);
  }

  /** Those that nobody has redriven or dismissed, in no order. */
  unresolved(): DeadLetter[] {
    const left = [...this.#groups.values()].filter((records) => !this.#isMarked(records));
    return this.#withoutRepeated(left.map((records) => this.#join(records)));
  }

  /** Records and markers that are held. */
  get size(): number {
    return this.#records + this.#marks.size;
  }

  /** Forgets what retention has deleted: everything before these offsets, by partition. */
  forgetBefore(oldest: ReadonlyMap<number, bigint>): void {
    const isThere = ({ partition, offset }: DeadLetterPosition) => offset >= (oldest.get(partition) ?? 0n);
    for (const [identity, records] of this.#groups) {
      if (records.every(isThere)) continue;
      const left = records.filter(isThere);
      this.#records -= records.length - left.length;
      if (left.length > 0) this.#groups.set(identity, left);
      else this.#groups.delete(identity);
    }
    for (const at of this.#marks.keys()) {
      const position = parsePosition(at);
      if (position && !isThere(position)) this.#marks.delete(at);
    }
  }

  /**
   * Forgets what was redriven or dismissed, with attempts of it that were not stored whole, and all markers. Gives the identities of
   * what it forgets.
   */
  forgetResolved(): string[] {
    const isMarked = ([, records]: Group) => this.#isMarked(records);
    const marked = [...this.#groups].filter(isMarked);
    const repeated = this.#repeatedBy(
      marked,
      [...this.#groups].filter(inParts).filter((group) => !isMarked(group)),
    );
    for (const [identity, records] of [...marked, ...repeated]) {
      this.#records -= records.length;
      this.#groups.delete(identity);
    }
    this.#marks.clear();
    return [...marked, ...repeated].map(([identity]) => identity);
  }

  /** Those of `others` with missing parts whose delivery one of `groups` has whole. */
  #repeatedBy(groups: readonly Group[], others: readonly Group[]): Group[] {
    if (others.length === 0) return [];
    const whole = new Set(
      groups
        .map(([, records]) => this.#join(records))
        .filter(isWhole)
        .map(eventIdOf),
    );
    return others.filter(([, records]) => {
      const one = this.#join(records);
      return !isWhole(one) && whole.has(eventIdOf(one));
    });
  }

  /** A delivery whose parts could not all be stored was answered 503 and sent again: parts of the first attempt are no loss. */
  #withoutRepeated(deadLetters: readonly DeadLetter[]): DeadLetter[] {
    if (!deadLetters.some((one) => stateOf(one) === 'incomplete')) return [...deadLetters];
    const all = [...this.#groups.values()].map((records) => this.#join(records));
    const whole = new Set(all.filter(isWhole).map(eventIdOf));
    return deadLetters.filter((one) => stateOf(one) !== 'incomplete' || !whole.has(eventIdOf(one)));
  }

  #isMarked = (records: readonly DeadLetterRecord[]): boolean =>
    this.#marks.size > 0 && records.some((record) => this.#marks.has(positionText(record)));

  #takeMarker(marker: DeadLetterRecord): void {
    const { timestamp: at, headers } = marker;
    const redriven = headers[NAMES.redriveOf] !== undefined && { at, to: headers[NAMES.redrivenTo] ?? '' };
    const [by = '', reason = ''] = [headers[NAMES.dismissedBy], headers[NAMES.dismissedReason]];
    const marks: Marks = redriven ? { redriven } : { dismissed: { at, by, reason } };
    for (const position of markedBy(marker))
      this.#marks.set(position, { ...this.#marks.get(position), ...marks });
  }

  #join(records: readonly DeadLetterRecord[]): DeadLetter {
    const count = numberOf(records[0]?.headers[NAMES.parts]);
    const labelled = records.map((record) => ({ ...labelOf(record, count), record }));
    const present = joinable(labelled);
    const lowest = Math.min(...labelled.map(({ part }) => part));
    const { record: first = records[0] as DeadLetterRecord } =
      labelled.find(({ part }) => part === lowest) ?? {};
    const marks = records.flatMap((record) => this.#marks.get(positionText(record)) ?? []);
    const object = bodyReferenceOf(first.headers);
    return {
      at: positionText(first),
      positions: present.map(({ record }) => toPosition(record)),
      copies: records.map(toPosition),
      missing: missingOf(count, present),
      parts: count,
      time: first.timestamp,
      bytes: object?.bytes ?? present.reduce((sum, { record }) => sum + record.bytes, 0),
      object,
      key: first.key,
      headers: first.headers,
      redriven: marks.findLast(({ redriven }) => redriven)?.redriven ?? null,
      dismissed: marks.findLast(({ dismissed }) => dismissed)?.dismissed ?? null,
    };
  }
}

/**
 * The same for all records of one dead-lettered delivery, and for no other: event id, time of receipt, number of parts and redrive
 * of a delivery; the original position and time of a command (positions return in a topic that was created anew); its own of a foreign one.
 */
export function identityOf(record: DeadLetterRecord): string {
  const { headers } = record;
  const names =
    headers[NAMES.eventId] !== undefined
      ? [NAMES.eventId, NAMES.receivedAt, NAMES.parts, NAMES.redrivenAt]
      : [NAMES.topic, NAMES.partition, NAMES.offset, NAMES.receivedAt, NAMES.redrivenAt];
  if (headers[NAMES.stage] === undefined) return positionText(record);
  return JSON.stringify(names.map((name) => headers[name] ?? null));
}

type Group = readonly [identity: string, records: readonly DeadLetterRecord[]];
const inParts = ([, [first]]: Group): boolean => numberOf(first?.headers[NAMES.parts]) > 1;
const toPosition = ({ partition, offset }: DeadLetterPosition): DeadLetterPosition => ({ partition, offset });
const isWhole = (deadLetter: DeadLetter) => deadLetter.missing.length === 0;
const eventIdOf = (deadLetter: DeadLetter) => deadLetter.headers[NAMES.eventId];

export function byTime(a: DeadLetter, b: DeadLetter): number {
  if (a.time !== b.time) return a.time - b.time;
  const [one, other] = [a.positions[0], b.positions[0]];
  return one && other ? one.partition - other.partition || Number(one.offset - other.offset) : 0;
}
