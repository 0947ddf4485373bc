import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterRecord } from './dead-letter-record.ts';
import { byTime, type DeadLetter, identityOf, stateOf } from './dead-letters.ts';
import type { DeadLetterFilter } from './filter.ts';
import { HeaderPacker } from './pack-headers.ts';
import { PackedDeadLetter } from './packed-dead-letter.ts';
import { PackedMarks } from './packed-marks.ts';
import { labelOf, numberOf, PresentParts } from './parts.ts';
import { isMarker } from './read-marker.ts';
import { TextNumbers } from './text-numbers.ts';

/**
 * Selects, while the topic is read, what the filter would select of a DeadLetterIndex of the whole topic. Held are about 250 bytes of
 * each delivery that matches, 60 of each position that a marker names, and 60 of each other delivery: what they are, so that a later
 * copy of one is not taken for another, and which are whole, as then a first attempt with missing parts is no loss.
 */
export class MatchingDeadLetters {
  readonly #filter: DeadLetterFilter;
  readonly #named: ReadonlySet<string> | null;
  readonly #identities = new TextNumbers();
  /** By the number of the identity; null: it does not match, and all its parts have come. */
  readonly #groups: (PackedDeadLetter | PresentParts | null)[] = [];
  /** Event ids of those that are null. */
  readonly #wholeLeftOut = new TextNumbers();
  readonly #marks = new PackedMarks();
  readonly #packer = new HeaderPacker();

  /** @param named the records at the positions that the filter names: nothing else is held; null: it may be anything */
  constructor(filter: DeadLetterFilter, named: readonly DeadLetterRecord[] | null = null) {
    this.#filter = filter;
    this.#named = named && new Set(named.map(identityOf));
  }

  /** Records of different partitions may come in any order. */
  take(record: DeadLetterRecord): void {
    if (isMarker(record)) return this.#marks.take(record);
    const identity = identityOf(record);
    const number = this.#identities.numberOf(identity);
    const group = this.#groups[number];
    if (group === null) return;
    if (group instanceof PackedDeadLetter && (group.hasFirstPart || !this.#isLeftOut(record, identity)))
      return group.take(record, this.#packer);
    if (group === undefined && !this.#isLeftOut(record, identity)) {
      this.#groups[number] = new PackedDeadLetter(record, this.#packer, this.#marks);
      return;
    }
    this.#groups[number] = this.#leaveOut(record, group);
  }

  /** Those that match, sorted by the time when they were written. */
  deadLetters(): DeadLetter[] {
    const held = this.#groups.filter((group) => group instanceof PackedDeadLetter);
    const matching = held.filter((one) => this.#filter.matches(one));
    return this.#withoutRepeated(matching, held).sort(byTime);
  }

  /** Records that are held with what a redrive needs of them. */
  get size(): number {
    const held = this.#groups.filter((group) => group instanceof PackedDeadLetter);
    return held.reduce((sum, { copies }) => sum + copies.length, 0);
  }

  /** The first record with part 1 decides: its headers stay those of the delivery. Before it comes, any part may be the first. */
  #isLeftOut({ headers, timestamp: time }: DeadLetterRecord, identity: string): boolean {
    if (this.#named && !this.#named.has(identity)) return true;
    return numberOf(headers[NAMES.part]) === 1 && !this.#filter.mayMatch({ headers, time });
  }

  /** What stays of a delivery that does not match: its parts, until all of them have come. */
  #leaveOut(
    record: DeadLetterRecord,
    group: PackedDeadLetter | PresentParts | undefined,
  ): PresentParts | null {
    const present = group instanceof PresentParts ? group : new PresentParts(countOf(record, group));
    if (group instanceof PackedDeadLetter) for (const label of group.labels) present.add(label);
    present.add(labelOf(record, present.count));
    if (!present.isWhole) return present;
    this.#wholeLeftOut.numberOf(eventIdOf(record.headers));
    return null;
  }

  /** A delivery whose parts could not all be stored was answered 503 and sent again: parts of the first attempt are no loss. */
  #withoutRepeated(matching: PackedDeadLetter[], held: readonly PackedDeadLetter[]): PackedDeadLetter[] {
    const isIncomplete = (one: PackedDeadLetter) => one.missing.length > 0 && stateOf(one) === 'incomplete';
    const incomplete = new Set(matching.filter(isIncomplete));
    if (incomplete.size === 0) return matching;
    const whole = new Set(
      held.filter(({ missing }) => missing.length === 0).map(({ headers }) => eventIdOf(headers)),
    );
    const isRepeated = (one: PackedDeadLetter) => {
      const eventId = eventIdOf(one.headers);
      return whole.has(eventId) || this.#wholeLeftOut.find(eventId) !== undefined;
    };
    return matching.filter((one) => !incomplete.has(one) || !isRepeated(one));
  }
}

const countOf = ({ headers }: DeadLetterRecord, held: PackedDeadLetter | undefined): number =>
  held?.parts ?? numberOf(headers[NAMES.parts]);

/** Also of a record that has none: as a text that no event id is. */
const eventIdOf = (headers: DeadLetter['headers']): string => JSON.stringify(headers[NAMES.eventId] ?? null);
