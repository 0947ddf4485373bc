import type { DeadLetterPosition, DeadLetterRecord } from './dead-letter-record.ts';

/** 10 MB of memory. Records behind so many are not counted. */
const MAX_OFFSETS = 10_000_000;
const FIRST_OFFSETS = 4_096;
/** Of an offset's byte: the stage counts from 1, and 0 is no record. */
const STAGE = 0x0f;
const MARKED = 0x10;
/** So many offsets, as a power of 2, have one time: the earliest of their records. */
const TIME_BITS = 6;

type Partition = {
  /** Of the first byte. */
  readonly first: bigint;
  bytes: Uint8Array;
  used: number;
  /** The earliest time of the records of each 64 offsets, in milliseconds since 1970. */
  times: number[];
  /** From here on all records are here; null where they are being taken once more. */
  from: bigint | null;
};

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
    return ![...this.#partitions.values()].some(({ from }) => from !== null);
  }

  /** Whether a record of this position belongs here, or would if it came. */
  covers({ partition, offset }: DeadLetterPosition): boolean {
    const from = this.#partitions.get(partition)?.from ?? null;
    return from !== null && offset >= from;
  }

  /** @param stage null where it does not count, as a later part of one that does */
  add(record: DeadLetterPosition & Pick<DeadLetterRecord, 'timestamp'>, stage: string | null): void {
    const { partition, offset, timestamp } = record;
    let own = this.#partitions.get(partition);
    if (!own) {
      own = { first: offset, bytes: new Uint8Array(FIRST_OFFSETS), used: 0, times: [], from: offset };
      this.#partitions.set(partition, own);
    }
    own.from ??= offset;
    const at = Number(offset - own.first);
    if (stage === null || !this.#extend(own, at + 1)) return;
    own.bytes[at] = ((own.bytes[at] ?? 0) & MARKED) | (this.#stages.indexOf(stage) + 1);
    const block = at >> TIME_BITS;
    own.times[block] = Math.min(own.times[block] ?? timestamp, timestamp);
  }

  /** It is held, or forgotten as done: it does not count here. */
  remove(position: DeadLetterPosition): void {
    this.#change(position, (byte) => byte & MARKED);
  }

  /** It was redriven or dismissed. */
  mark(position: DeadLetterPosition): void {
    this.#change(position, (byte) => byte | MARKED);
  }

  /** Whether a marker named it when it was here. */
  isMarked({ partition, offset }: DeadLetterPosition): boolean {
    const own = this.#partitions.get(partition);
    return own !== undefined && ((own.bytes[Number(offset - own.first)] ?? 0) & MARKED) !== 0;
  }

  /**
   * How many are open, by stage, and when the oldest was written: infinity where none is open. Of an open one it can be the time of
   * another one at most 63 offsets before.
   * @param oldest the first offset of each partition that the topic still has
   */
  count(oldest: ReadonlyMap<number, bigint>): {
    readonly byStage: Map<string, number>;
    readonly oldestAt: number;
  } {
    const counts = new Uint32Array(STAGE + 1);
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const [partition, { first, bytes, used, times }] of this.#partitions) {
      const gone = Math.max(0, Number((oldest.get(partition) ?? 0n) - first));
      for (let at = gone; at < used; at++) {
        const byte = bytes[at] ?? 0;
        if (byte === 0 || (byte & MARKED) !== 0) continue;
        counts[byte] = (counts[byte] ?? 0) + 1;
        oldestAt = Math.min(oldestAt, times[at >> TIME_BITS] ?? oldestAt);
      }
    }
    return { byStage: new Map(this.#stages.map((stage, n) => [stage, counts[n + 1] ?? 0])), oldestAt };
  }

  /** Begins to take them once more. Gives by partition the first offset that belongs here; which ones are marked stays known. */
  rewind(): ReadonlyMap<number, bigint> {
    const firsts = new Map<number, bigint>();
    for (const [partition, own] of this.#partitions) {
      if (own.from !== null) firsts.set(partition, own.from);
      own.from = null;
      own.times = [];
    }
    return firsts;
  }

  clear(): void {
    this.#partitions.clear();
    this.#offsets = 0;
  }

  #change({ partition, offset }: DeadLetterPosition, change: (byte: number) => number): void {
    const own = this.#partitions.get(partition);
    const at = own ? Number(offset - own.first) : -1;
    if (own && at >= 0 && at < own.used) own.bytes[at] = change(own.bytes[at] ?? 0);
  }

  /** @returns false where that is more than there may be */
  #extend(own: Partition, length: number): boolean {
    const more = Math.max(0, length - own.used);
    if (this.#offsets + more > this.#max) return false;
    this.#offsets += more;
    own.used += more;
    if (length <= own.bytes.length) return true;
    const bytes = new Uint8Array(Math.max(length, own.bytes.length * 2));
    bytes.set(own.bytes);
    own.bytes = bytes;
    return true;
  }
}
