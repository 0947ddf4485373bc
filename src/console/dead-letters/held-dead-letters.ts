import { parsePosition } from '../../core/record.ts';
import type { DeadLetterPosition, DeadLetterRecord } from '../../dead-letters/dead-letter-record.ts';
import { type DeadLetter, DeadLetterIndex } from '../../dead-letters/dead-letters.ts';
import { isMarker, positionsIn } from '../../dead-letters/read-marker.ts';
import { OffsetSet } from './offset-set.ts';

type Offsets = ReadonlyMap<number, bigint>;

/** Of what is full, this share stays, so that not every further record makes room again. */
const STAYS = 0.9;

/**
 * The dead-letter records that the console holds: the latest ones. Where there are too many, what was redriven or dismissed goes
 * first, then the oldest of what is open. Of these a bit is kept, so that their number stays true: a later marker or retention takes
 * them off it.
 */
export class HeldDeadLetters {
  readonly #index = new DeadLetterIndex();
  readonly #max: number;
  /** By partition, the offset from which on everything that is open is held, and before which something is not. */
  readonly #floors = new Map<number, bigint>();
  readonly #openNotHeld = new OffsetSet();
  #oldest: Offsets = new Map();

  constructor(max: number) {
    this.#max = max;
  }

  take(record: DeadLetterRecord): void {
    if (isMarker(record)) for (const position of positionsIn(record)) this.#openNotHeld.delete(position);
    this.#index.take(record);
  }

  /** The oldest first. */
  deadLetters = (): DeadLetter[] => this.#index.deadLetters();

  /** Records and markers that are held. */
  get size(): number {
    return this.#index.size;
  }

  /** Deliveries and commands that are open, older than what is held. */
  get openNotHeld(): number {
    return this.#openNotHeld.size;
  }

  /** Whether anything that the topic has is not held, if only what was redriven or dismissed. */
  get isPartial(): boolean {
    return [...this.#floors].some(([partition, floor]) => (this.#oldest.get(partition) ?? 0n) < floor);
  }

  /**
   * Forgets what retention has deleted, and what there is no room for.
   * @param oldest the first offset of each partition that the topic still has
   * @param read by partition, the offset to which it was read
   */
  tidy(oldest: Offsets, read: Offsets): void {
    this.#oldest = oldest;
    this.#index.forgetBefore(oldest);
    this.#openNotHeld.forgetBefore(oldest);
    if (this.#index.size <= this.#max) return;
    this.#index.forgetResolved();
    for (const [partition, offset] of read) this.#floors.set(partition, offset);
    if (this.#index.size > this.#max) this.#forgetOldest(read);
  }

  #forgetOldest(read: Offsets): void {
    const tooMany = this.#index.size - Math.floor(this.#max * STAYS);
    const cut = new Map<number, bigint>();
    const isCut = ({ partition, offset }: DeadLetterPosition) => offset < (cut.get(partition) ?? 0n);
    let forgotten = 0;
    const all = this.#index.deadLetters();
    for (const { copies } of all) {
      // Of a delivery all parts go, or none: what is left of it would look incomplete.
      if (forgotten >= tooMany && !copies.some(isCut)) continue;
      forgotten += copies.length;
      for (const copy of copies) if (!isCut(copy)) cut.set(copy.partition, copy.offset + 1n);
    }
    // A cut is by offset and goes up as it is made: what is below it now may be later by time, and was passed over.
    for (let isLevel = false; !isLevel; ) {
      isLevel = true;
      for (const { copies } of all.filter((one) => one.copies.some(isCut)))
        for (const copy of copies)
          if (!isCut(copy)) {
            cut.set(copy.partition, copy.offset + 1n);
            isLevel = false;
          }
    }
    for (const { at, copies } of all) {
      const position = copies.some(isCut) ? parsePosition(at) : undefined;
      if (position) this.#openNotHeld.add(position);
    }
    this.#index.forgetBefore(cut);
    // Parts of attempts that were repeated are held too, and are in no list.
    for (let half = 1n; this.#index.size > this.#max; half++)
      this.#index.forgetBefore(
        new Map([...read].map(([partition, to]) => [partition, to - ((to - this.#from(partition)) >> half)])),
      );
  }

  #from = (partition: number): bigint => this.#oldest.get(partition) ?? 0n;
}
