import { type ObjectReference, positionText } from '../core/record.ts';
import {
  bodyReferenceOf,
  DEAD_LETTER_HEADERS as NAMES,
} from '../delivery/dead-letter/dead-letter-headers.ts';
import { type DeadLetterPosition, type DeadLetterRecord, toPosition } from './dead-letter-record.ts';
import { joinable, labelOf, missingOf, numberOf } from './parts.ts';
import { isMarker, markedBy, namesOf, positionOf } from './read-marker.ts';

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
export const DEAD_LETTER_STATES = ['open', 'redriven', 'dismissed', 'incomplete'] as const;
export type DeadLetterState = (typeof DEAD_LETTER_STATES)[number];

export function stateOf(deadLetter: Pick<DeadLetter, 'redriven' | 'dismissed' | 'missing'>): DeadLetterState {
  if (deadLetter.redriven) return 'redriven';
  if (deadLetter.dismissed) return 'dismissed';
  return deadLetter.missing.length > 0 ? 'incomplete' : 'open';
}

/** How often the delivery has been redriven so far. */
export const redrivesOf = ({ headers }: Pick<DeadLetter, 'headers'>): number =>
  Number(headers[NAMES.redriveCount] ?? 0) || 0;

type Marks = { redriven?: Redriven; dismissed?: Dismissed };

/**
 * Groups the records of the topic into dead-lettered deliveries and commands: joins parts, recognizes duplicate records,
 * and applies the markers that redrives and dismissals have written. Records of different partitions may come in any order.
 */
export class DeadLetterIndex {
  readonly #groups = new Map<string, DeadLetterRecord[]>();
  /** By the names of the records that they are about. */
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
    for (const name of this.#marks.keys()) {
      const position = positionOf(name);
      if (position && !isThere(position)) this.#marks.delete(name);
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
    this.#marks.size > 0 && this.#marksOf(records, firstOf(records)).length > 0;

  #marksOf(records: readonly DeadLetterRecord[], { key }: DeadLetterRecord): Marks[] {
    return records.flatMap((record) => namesOf(record, key).flatMap((name) => this.#marks.get(name) ?? []));
  }

  #takeMarker(marker: DeadLetterRecord): void {
    const { timestamp: at, headers } = marker;
    const redriven = headers[NAMES.redriveOf] !== undefined && { at, to: headers[NAMES.redrivenTo] ?? '' };
    const [by = '', reason = ''] = [headers[NAMES.dismissedBy], headers[NAMES.dismissedReason]];
    const marks: Marks = redriven ? { redriven } : { dismissed: { at, by, reason } };
    for (const name of markedBy(marker)) this.#marks.set(name, { ...this.#marks.get(name), ...marks });
  }

  #join(records: readonly DeadLetterRecord[]): DeadLetter {
    const count = numberOf(records[0]?.headers[NAMES.parts]);
    const labelled = records.map((record) => ({ ...labelOf(record, count), record }));
    const present = joinable(labelled);
    const first = firstOf(records);
    const marks = this.#marksOf(records, first);
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

/** The first record with the lowest part: its key and headers are those of the delivery. */
function firstOf(records: readonly DeadLetterRecord[]): DeadLetterRecord {
  const [first, ...others] = records as [DeadLetterRecord, ...DeadLetterRecord[]];
  if (others.length === 0) return first;
  const count = numberOf(first.headers[NAMES.parts]);
  const partOf = (record: DeadLetterRecord) => labelOf(record, count).part;
  return others.reduce((lowest, one) => (partOf(one) < partOf(lowest) ? one : lowest), first);
}

/**
 * The same for all records of one dead-lettered delivery, and for no other: event id, time of receipt, number of parts, sealing and
 * redrive of a delivery; the original position and time of a command (positions return in a topic that was created anew); its own of a foreign one.
 */
export function identityOf(record: DeadLetterRecord): string {
  const { headers } = record;
  const names =
    headers[NAMES.eventId] !== undefined
      ? [NAMES.eventId, NAMES.receivedAt, NAMES.parts, NAMES.sealed, NAMES.redrivenAt]
      : [NAMES.topic, NAMES.partition, NAMES.offset, NAMES.receivedAt, NAMES.redrivenAt];
  if (headers[NAMES.stage] === undefined) return positionText(record);
  return JSON.stringify(names.map((name) => headers[name] ?? null));
}

type Group = readonly [identity: string, records: readonly DeadLetterRecord[]];
const inParts = ([, [first]]: Group): boolean => numberOf(first?.headers[NAMES.parts]) > 1;
const isWhole = (deadLetter: DeadLetter) => deadLetter.missing.length === 0;
const eventIdOf = (deadLetter: DeadLetter) => deadLetter.headers[NAMES.eventId];

export function byTime(a: DeadLetter, b: DeadLetter): number {
  if (a.time !== b.time) return a.time - b.time;
  const one = a.positions[0];
  const other = b.positions[0];
  return one && other ? one.partition - other.partition || Number(one.offset - other.offset) : 0;
}
