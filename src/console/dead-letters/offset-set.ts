import type { DeadLetterPosition } from '../../dead-letters/dead-letter-record.ts';

/** Offsets of one chunk: a bit each, 8 KiB. */
const CHUNK = 65_536;
/** 4 MiB, for 33 million offsets. What is beyond is not counted. */
const MAX_CHUNKS = 512;

type Chunk = { readonly bits: Uint8Array; count: number };

/** A set of offsets that needs a bit for each: 125 kB for a million. */
export class OffsetSet {
  /** By partition and number of the chunk. */
  readonly #chunks = new Map<string, Chunk>();
  /** By partition, what was forgotten last. */
  readonly #oldest = new Map<number, bigint>();

  get size(): number {
    return [...this.#chunks.values()].reduce((sum, { count }) => sum + count, 0);
  }

  add({ partition, offset }: DeadLetterPosition): void {
    const { name, at } = placeOf(partition, Number(offset));
    let chunk = this.#chunks.get(name);
    if (!chunk) {
      if (this.#chunks.size >= MAX_CHUNKS) return;
      chunk = { bits: new Uint8Array(CHUNK / 8), count: 0 };
      this.#chunks.set(name, chunk);
    }
    if (!isSet(chunk, at)) flip(chunk, at, 1);
  }

  delete({ partition, offset }: DeadLetterPosition): void {
    const { name, at } = placeOf(partition, Number(offset));
    const chunk = this.#chunks.get(name);
    if (chunk && isSet(chunk, at)) flip(chunk, at, -1);
    if (chunk?.count === 0) this.#chunks.delete(name);
  }

  /** Forgets what is before these offsets, by partition. */
  forgetBefore(oldest: ReadonlyMap<number, bigint>): void {
    const moved = new Map([...oldest].filter(([partition, at]) => this.#oldest.get(partition) !== at));
    for (const [partition, at] of moved) this.#oldest.set(partition, at);
    if (moved.size === 0) return;
    for (const name of [...this.#chunks.keys()]) {
      const [partition = 0, number = 0] = name.split(':').map(Number);
      const before = Number(moved.get(partition) ?? 0n);
      if (number * CHUNK >= before) continue;
      if ((number + 1) * CHUNK <= before) this.#chunks.delete(name);
      else
        for (let offset = number * CHUNK; offset < before; offset++)
          this.delete({ partition, offset: BigInt(offset) });
    }
  }
}

const placeOf = (partition: number, offset: number) => ({
  name: `${partition}:${Math.floor(offset / CHUNK)}`,
  at: offset % CHUNK,
});

const isSet = ({ bits }: Chunk, at: number): boolean => ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;

function flip(chunk: Chunk, at: number, by: 1 | -1): void {
  chunk.bits[at >> 3] = (chunk.bits[at >> 3] ?? 0) ^ (1 << (at & 7));
  chunk.count += by;
}
