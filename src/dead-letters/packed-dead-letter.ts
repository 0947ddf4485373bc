import { type ObjectReference, positionText } from '../core/record.ts';
import {
  bodyReferenceOf,
  DEAD_LETTER_HEADERS as NAMES,
} from '../delivery/dead-letter/dead-letter-headers.ts';
import { type DeadLetterPosition, type DeadLetterRecord, toPosition } from './dead-letter-record.ts';
import type { DeadLetter, Dismissed, Redriven } from './dead-letters.ts';
import { type HeaderPacker, unpack } from './pack-headers.ts';
import type { PackedMarks } from './packed-marks.ts';
import { joinable, labelOf, missingOf, NO_PART, numberOf, type PartLabel } from './parts.ts';

type Copy = DeadLetterPosition & PartLabel & { readonly bytes: number };

/** One dead-lettered delivery or command in about 250 bytes. What is asked of it is made each time. */
export class PackedDeadLetter implements DeadLetter {
  readonly parts: number;
  time: number;
  readonly #marks: PackedMarks;
  // The record with the first part. Without an object of its own: nearly all have one record.
  #partition: number;
  #offset: number | bigint;
  #bytes: number;
  #part: number;
  #attempt: string;
  #shape;
  #own: string;
  /** All records as they came; null while there is one. */
  #copies: Copy[] | null = null;

  constructor(record: DeadLetterRecord, packer: HeaderPacker, marks: PackedMarks) {
    const { headers, key } = record;
    this.parts = numberOf(headers[NAMES.parts]);
    this.time = record.timestamp;
    this.#marks = marks;
    this.#partition = record.partition;
    this.#offset = small(record.offset);
    this.#bytes = record.bytes;
    ({ part: this.#part, attempt: this.#attempt } = labelOf(record, this.parts));
    ({ shape: this.#shape, own: this.#own } = packer.pack(headers, key));
  }

  /** Adds another record of it: a part, or a copy of one. */
  take(record: DeadLetterRecord, packer: HeaderPacker): void {
    const { partition, offset, bytes } = record;
    const { part, attempt } = labelOf(record, this.parts);
    this.#copies ??= [this.#first];
    this.#copies.push({ partition, offset, bytes, part, attempt });
    if (part >= this.#part) return;
    this.time = record.timestamp;
    this.#partition = partition;
    this.#offset = offset;
    this.#bytes = bytes;
    this.#part = part;
    this.#attempt = attempt;
    ({ shape: this.#shape, own: this.#own } = packer.pack(record.headers, record.key));
  }

  /** Whether the record with part 1 has come. Its headers and time stay those of the delivery, whatever follows. */
  get hasFirstPart(): boolean {
    return this.#part === 1;
  }

  get at(): string {
    return positionText(this.#first);
  }

  get positions(): DeadLetterPosition[] {
    return this.#present.map(toPosition);
  }

  get copies(): DeadLetterPosition[] {
    return (this.#copies ?? [this.#first]).map(toPosition);
  }

  get missing(): number[] {
    return missingOf(this.parts, this.#present);
  }

  get bytes(): number {
    return this.object?.bytes ?? this.#present.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get object(): ObjectReference | null {
    return bodyReferenceOf(this.headers);
  }

  get key(): string | null {
    return unpack({ shape: this.#shape, own: this.#own }).key;
  }

  get headers(): DeadLetter['headers'] {
    return unpack({ shape: this.#shape, own: this.#own }).headers;
  }

  get redriven(): Redriven | null {
    return this.#marks.redriven(this.copies, this.key);
  }

  get dismissed(): Dismissed | null {
    return this.#marks.dismissed(this.copies, this.key);
  }

  /** Of each of its records. */
  get labels(): readonly PartLabel[] {
    return this.#copies ?? [this.#first];
  }

  get #first(): Copy {
    const offset = BigInt(this.#offset);
    const part = this.#part;
    const attempt = this.#attempt;
    return { partition: this.#partition, offset, bytes: this.#bytes, part, attempt };
  }

  get #present(): Copy[] {
    if (!this.#copies) return this.#part === NO_PART ? [] : [this.#first];
    return joinable(this.#copies);
  }
}

/** A bigint takes 24 bytes of its own, where most numbers take none. */
const small = (offset: bigint): number | bigint =>
  offset <= Number.MAX_SAFE_INTEGER ? Number(offset) : offset;
