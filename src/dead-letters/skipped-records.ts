import type { DeadLetterPosition } from './dead-letters.ts';

/** 10 MB of memory. Records behind so many are not counted. */
const MAX_OFFSETS = 10_000_000;
const FIRST_OFFSETS = 4_096;
/** Of an offset's byte: the stage counts from 1, and 0 is no record. */
const STAGE = 0x0f;
const MARKED = 0x10;

type Partition = { readonly from: bigint; bytes: Uint8Array; used: number };

/**
 * Records that {@link OpenDeadLetters} has no memory for, one byte each: its stage, and whether it was redriven or dismissed. From the
 * first one on, all records of its partition are here.
 */
export class SkippedRecords {
  readonly #partitions = new Map<number, Partition>();
  readonly #stages: readonly string[];
  readonly #max: number;
  #offsets = 0;

  constructor(stages: readonly string[], max = MAX_OFFSETS) {
    this.#stages = stages;
    this.#max = max;
  }

  get isEmpty(): boolean {
    return this.#partitions.size === 0;
  }

  /** Whether a record of this position belongs here, or would if it came. */
  covers({ partition, offset }: DeadLetterPosition): boolean {
    const own = this.#partitions.get(partition);
    return own !== undefined && offset >= own.from;
  }

  /** @param stage null where it does not count, as a later part of one that does */
  add({ partition, offset }: DeadLetterPosition, stage: string | null): void {
    let own = this.#partitions.get(partition);
    if (!own) {
      own = { from: offset, bytes: new Uint8Array(FIRST_OFFSETS), used: 0 };
      this.#partitions.set(partition, own);
    }
    if (stage === null) return;
    const at = Number(offset - own.from);
    const more = at + 1 - own.used;
    if (this.#offsets + Math.max(0, more) > this.#max) return;
    if (more > 0) {
      this.#offsets += more;
      own.used = at + 1;
    }
    if (at >= own.bytes.length) {
      const bytes = new Uint8Array(Math.max(at + 1, own.bytes.length * 2));
      bytes.set(own.bytes);
      own.bytes = bytes;
    }
    own.bytes[at] = this.#stages.indexOf(stage) + 1;
  }

  /** It was redriven or dismissed. */
  mark({ partition, offset }: DeadLetterPosition): void {
    const own = this.#partitions.get(partition);
    const at = own ? Number(offset - own.from) : -1;
    if (own && at >= 0 && at < own.used) own.bytes[at] = (own.bytes[at] ?? 0) | MARKED;
  }

  /**
   * How many are open, by stage.
   * @param oldest the first offset of each partition that the topic still has
   */
  count(oldest: ReadonlyMap<number, bigint>): Map<string, number> {
    const counts = new Uint32Array(STAGE + 1);
    for (const [partition, { from, bytes, used }] of this.#partitions) {
      const first = Math.max(0, Number((oldest.get(partition) ?? 0n) - from));
      for (let at = first; at < used; at++) {
        const byte = bytes[at] ?? 0;
        if ((byte & MARKED) === 0) counts[byte] = (counts[byte] ?? 0) + 1;
      }
    }
    return new Map(this.#stages.map((stage, n) => [stage, counts[n + 1] ?? 0]));
  }

  /** Forgets all, and gives by partition the first offset that was here. */
  clear(): ReadonlyMap<number, bigint> {
    const firsts = new Map([...this.#partitions].map(([partition, { from }]) => [partition, from]));
    this.#partitions.clear();
    this.#offsets = 0;
    return firsts;
  }
}
