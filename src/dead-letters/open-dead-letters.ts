import { DEAD_LETTER_STAGES } from '../core/errors.ts';
import { sha256Of } from '../crypto/ids.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterRecord } from './dead-letter-record.ts';
import { DeadLetterIndex, identityOf } from './dead-letters.ts';
import { DoneIdentities } from './done-identities.ts';
import { FOREIGN, stageOf } from './filter.ts';
import { isMarker, positionsIn } from './read-marker.ts';
import { SkippedRecords } from './skipped-records.ts';

/** What nobody has redriven or dismissed yet. */
export type OpenCount = {
  /** Deliveries and commands, by stage: every stage is there. FOREIGN: Hookline did not write the record. */
  readonly byStage: ReadonlyMap<string, number>;
  /** When the oldest was written, in milliseconds since 1970; null where none is open. */
  readonly oldestAt: number | null;
};

const STAGES = [...DEAD_LETTER_STAGES, FOREIGN];

/** What joins records, and tells what became of them. Nothing else of a record is read but its key: no body and no message. */
const READ = [
  NAMES.stage,
  NAMES.eventId,
  NAMES.receivedAt,
  NAMES.part,
  NAMES.parts,
  NAMES.partsOf,
  NAMES.sealed,
  NAMES.redrivenAt,
  NAMES.topic,
  NAMES.partition,
  NAMES.offset,
  NAMES.redriveOf,
  NAMES.dismissalOf,
];

/** Hookline writes none that is longer. Longer ones count as not there: somebody else's must not fill the memory. */
const MAX_HEADER_CHARACTERS = 1_000;

/** Of texts that only join records: a longer one is held as its hash. An event id has 36. */
const MAX_HELD_CHARACTERS = 40;
/** A longer part number is none. */
const MAX_DIGITS = 10;

/** Records and markers that are held: about 30 MB of memory, whatever their headers hold. */
const MAX_RECORDS = 50_000;

/**
 * Counts open dead-letter records while it follows the topic. Of more than 50,000 it holds the first, and of the others one byte each,
 * which tells whether a marker names its position, whatever its key is: a copy counts once more there. When so many are done that there is room,
 * {@link mustReadAgain} asks for the others once more.
 */
export class OpenDeadLetters {
  readonly #index = new DeadLetterIndex();
  readonly #done = new DoneIdentities();
  readonly #max: number;
  readonly #skipped: SkippedRecords;
  #isFull = false;

  constructor(max = MAX_RECORDS, skipped = new SkippedRecords(STAGES)) {
    this.#max = max;
    this.#skipped = skipped;
  }

  take(record: Unread & { readonly key: Buffer | null }): void {
    const { partition, offset, timestamp } = record;
    const headers = heldOf(record);
    const few = { partition, offset, timestamp, key: heldKeyOf(record.key, headers), bytes: 0, headers };
    if (isMarker(few)) return this.#takeMarker(few);
    const identity = identityOf(few);
    if (this.#skipped.isMarked(few)) return this.#done.add(identity);
    this.#skipped.remove(few);
    if (this.#done.has(identity)) return;
    if (this.#isFull || this.#skipped.covers(few)) {
      const isFirst = (few.headers[NAMES.part] ?? '1') === '1';
      return this.#skipped.add(few, isFirst ? stageOf(few.headers[NAMES.stage]) : null);
    }
    this.#index.take(few);
    if (this.#index.size >= this.#max) this.#makeRoom();
  }

  /** @param oldest the first offset of each partition that the topic still has */
  count(oldest: ReadonlyMap<number, bigint>): OpenCount {
    this.#index.forgetBefore(oldest);
    if (this.#skipped.isEmpty) this.#skipped.clear();
    else this.#makeRoom();
    // Where several partitions are read, those that are not held can be older than those that are.
    let { byStage, oldestAt } = this.#skipped.count(oldest);
    for (const { headers, time } of this.#index.unresolved()) {
      const stage = stageOf(headers[NAMES.stage]);
      byStage.set(stage, (byStage.get(stage) ?? 0) + 1);
      oldestAt = Math.min(oldestAt, time);
    }
    return { byStage, oldestAt: Number.isFinite(oldestAt) ? oldestAt : null };
  }

  /** Whether some records are not held, and there is room for them now. */
  get mustReadAgain(): boolean {
    return !this.#skipped.isEmpty && this.#index.size < this.#max / 2;
  }

  /** Gives by partition the offset from which everything has to be taken again: those that are open by now are fewer. */
  readAgain(): ReadonlyMap<number, bigint> {
    this.#isFull = false;
    return this.#skipped.rewind();
  }

  #takeMarker(marker: DeadLetterRecord): void {
    const positions = positionsIn(marker);
    for (const position of positions) this.#skipped.mark(position);
    if (positions.every((position) => this.#skipped.covers(position))) return;
    this.#index.take(marker);
    // Later than a record: where it is full of open ones, each marker would have it looked through.
    if (this.#index.size >= this.#max * 1.1) this.#makeRoom();
  }

  /** Full is what stays nearly full without what is done: else it would be looked through at each record. */
  #makeRoom(): void {
    for (const identity of this.#index.forgetResolved()) this.#done.add(identity);
    this.#isFull = this.#index.size > this.#max * 0.9;
  }
}

type Unread = Omit<DeadLetterRecord, 'key' | 'bytes'>;

/** Headers that join and count a record as its own do, and are short. Of a marker they are its own: it is not held. */
function heldOf(record: Unread): Record<string, string> {
  const read = READ.filter(
    (name) => (record.headers[name]?.length ?? Number.POSITIVE_INFINITY) <= MAX_HEADER_CHARACTERS,
  );
  const headers = Object.fromEntries(read.map((name) => [name, record.headers[name] ?? '']));
  if (isMarker({ headers })) return headers;
  const held: Record<string, string> = {};
  const { [NAMES.stage]: stage, [NAMES.eventId]: eventId } = headers;
  for (const name of [NAMES.eventId, NAMES.partsOf]) {
    const text = headers[name];
    if (text !== undefined) held[name] = heldText(text);
  }
  for (const name of [NAMES.part, NAMES.parts]) {
    const number = headers[name];
    if (number !== undefined && number.length <= MAX_DIGITS) held[name] = number;
  }
  if (stage === undefined) return held;
  held[NAMES.stage] = stageOf(headers[NAMES.stage]);
  // Takes the place of all that the identity is made of.
  const identity = identityOf({ ...record, headers, key: null, bytes: 0 });
  held[eventId === undefined ? NAMES.topic : NAMES.receivedAt] = digest(identity);
  return held;
}

/** A marker has the key of its record, which mostly is the event id. */
function heldKeyOf(key: Buffer | null, headers: Readonly<Record<string, string>>): string | null {
  const text = key && heldText(key.toString());
  return text === headers[NAMES.eventId] ? (headers[NAMES.eventId] ?? null) : text;
}

const heldText = (text: string): string => (text.length <= MAX_HELD_CHARACTERS ? text : digest(text));
const digest = (text: string): string => sha256Of(Buffer.from(text));
