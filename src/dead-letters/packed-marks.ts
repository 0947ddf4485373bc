import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterPosition, DeadLetterRecord } from './dead-letter-record.ts';
import type { Dismissed, Redriven } from './dead-letters.ts';
import { markedBy, namesOf } from './read-marker.ts';
import { SharedTexts } from './shared-texts.ts';
import { TextNumbers } from './text-numbers.ts';

const NO_OFFSET = -1;

/** What markers say, in about 60 bytes a position: a marker can come before its record, and after records of others. */
export class PackedMarks {
  readonly #redriven = new TextNumbers();
  readonly #redrivenAt: number[] = [];
  /** Such as `topic[0]@`: the offset is beside it. */
  readonly #to: string[] = [];
  readonly #toOffset: number[] = [];
  readonly #dismissed = new TextNumbers();
  readonly #dismissedAt: number[] = [];
  readonly #by: string[] = [];
  readonly #reason: string[] = [];
  readonly #texts = new SharedTexts();

  /** Of several markers of one kind the last counts. */
  take(marker: DeadLetterRecord): void {
    const { timestamp, headers } = marker;
    const isRedrive = headers[NAMES.redriveOf] !== undefined;
    for (const name of markedBy(marker)) {
      if (isRedrive) this.#markRedriven(name, timestamp, headers[NAMES.redrivenTo] ?? '');
      else {
        const n = this.#dismissed.numberOf(name);
        this.#dismissedAt[n] = timestamp;
        this.#by[n] = this.#texts.of(headers[NAMES.dismissedBy] ?? '');
        this.#reason[n] = this.#texts.of(headers[NAMES.dismissedReason] ?? '');
      }
    }
  }

  /** @param copies all records of a delivery with this key, as they came: the last one that is marked counts */
  redriven(copies: readonly DeadLetterPosition[], key: string | null): Redriven | null {
    const n = lastOf(this.#redriven, copies, key);
    if (n === undefined) return null;
    const offset = this.#toOffset[n] ?? NO_OFFSET;
    const to = `${this.#to[n]}${offset === NO_OFFSET ? '' : offset}`;
    return { at: this.#redrivenAt[n] ?? 0, to };
  }

  /** @param copies all records of a delivery with this key, as they came: the last one that is marked counts */
  dismissed(copies: readonly DeadLetterPosition[], key: string | null): Dismissed | null {
    const n = lastOf(this.#dismissed, copies, key);
    if (n === undefined) return null;
    return { at: this.#dismissedAt[n] ?? 0, by: this.#by[n] ?? '', reason: this.#reason[n] ?? '' };
  }

  #markRedriven(name: string, at: number, to: string): void {
    const [, before = to, offset] = /^(.*@)(0|[1-9]\d{0,14})$/s.exec(to) ?? [];
    const n = this.#redriven.numberOf(name);
    this.#redrivenAt[n] = at;
    this.#to[n] = this.#texts.of(before);
    this.#toOffset[n] = offset === undefined ? NO_OFFSET : Number(offset);
  }
}

function lastOf(
  numbers: TextNumbers,
  copies: readonly DeadLetterPosition[],
  key: string | null,
): number | undefined {
  if (numbers.size === 0) return undefined;
  for (const copy of copies.toReversed())
    for (const name of namesOf(copy, key).reverse()) {
      const number = numbers.find(name);
      if (number !== undefined) return number;
    }
  return undefined;
}
