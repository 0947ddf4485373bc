import type { ObjectReference } from '../core/record.ts';
import {
  bodyReferenceOf,
  DEAD_LETTER_HEADERS as NAMES,
} from '../delivery/dead-letter/dead-letter-headers.ts';
import {
  type DeadLetter,
  type DeadLetterPosition,
  type DeadLetterRecord,
  type Dismissed,
  missingOf,
  numberOf,
  positionText,
  type Redriven,
} from './dead-letters.ts';
import type { HeldMarks } from './held-marks.ts';
import { type HeaderPacker, unpack } from './pack-headers.ts';

type Copy = DeadLetterPosition & { readonly part: number; readonly bytes: number };

/** Part of what holds no part that counts: everything else comes before it. */
const NO_PART = Number.MAX_SAFE_INTEGER;

/** One dead-lettered delivery or command in about 250 bytes. What is asked of it is made each time. */
export class HeldDeadLetter implements DeadLetter {
  readonly parts: number;
  time: number;
  readonly #marks: HeldMarks;
  // The record with the first part. Without an object of its own: nearly all have one record.
  #partition: number;
  #offset: number | bigint;
  #bytes: number;
  #part: number;
  #shape;
  #own: string;
  /** All records as they came; null while there is one. */
  #copies: Copy[] | null = null;

  constructor(record: DeadLetterRecord, packer: HeaderPacker, marks: HeldMarks) {
    const { headers, key } = record;
    this.parts = numberOf(headers[NAMES.parts]);
    this.time = record.timestamp;
    this.#marks = marks;
    this.#partition = record.partition;
    this.#offset = small(record.offset);
    this.#bytes = record.bytes;
    this.#part = this.#partOf(record);
    ({ shape: this.#shape, own: this.#own } = packer.pack(headers, key));
  }

  /** Adds another record of it: a part, or a copy of one. */
  take(record: DeadLetterRecord, packer: HeaderPacker): void {
    const { partition, offset, bytes } = record;
    const part = this.#partOf(record);
    this.#copies ??= [this.#first];
    this.#copies.push({ partition, offset, bytes, part });
    if (part >= this.#part) return;
    this.time = record.timestamp;
    this.#partition = partition;
    this.#offset = offset;
    this.#bytes = bytes;
    this.#part = part;
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
    return missingOf(this.parts, new Map(this.#present.map((copy) => [copy.part, copy])));
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
    return this.#marks.redriven(this.copies);
  }

  get dismissed(): Dismissed | null {
    return this.#marks.dismissed(this.copies);
  }

  /** Numbers of the parts that are there. */
  get present(): number[] {
    return this.#present.map(({ part }) => part);
  }

  get #first(): Copy {
    const offset = BigInt(this.#offset);
    return { partition: this.#partition, offset, bytes: this.#bytes, part: this.#part };
  }

  /** The first record of each part, in the order of the parts. */
  get #present(): Copy[] {
    if (!this.#copies) return this.#part === NO_PART ? [] : [this.#first];
    const parts = new Map<number, Copy>();
    for (const copy of this.#copies) if (!parts.has(copy.part)) parts.set(copy.part, copy);
    parts.delete(NO_PART);
    return [...parts.values()].sort((a, b) => a.part - b.part);
  }

  #partOf({ headers }: DeadLetterRecord): number {
    const part = numberOf(headers[NAMES.part]);
    return part <= this.parts ? part : NO_PART;
  }
}

/** A bigint takes 24 bytes of its own, where most numbers take none. */
const small = (offset: bigint): number | bigint =>
  offset <= Number.MAX_SAFE_INTEGER ? Number(offset) : offset;

const toPosition = ({ partition, offset }: DeadLetterPosition): DeadLetterPosition => ({ partition, offset });
