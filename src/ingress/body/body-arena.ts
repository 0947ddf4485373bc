import type { Clock, Timer } from '../../runtime/clock.ts';
import { collectGarbage } from '../../runtime/v8-flags.ts';
import { AdmissionQueue, type Lack, type Waiter } from './admission-queue.ts';
import { TakenBytes } from './memory-shares.ts';

/** After the last body the memory is kept for this long. */
const IDLE_MS = 30_000;

/** Bytes from `start` to before `end`. */
type Range = { start: number; end: number };

/**
 * The memory that large bodies arrive in: one piece, cut into one for each of them, used again and again, and given back
 * when none has come for a while. Memory of their own would cost more than the hashing does: the system hands each page out zeroed, and V8
 * collects a whole heap for every fifty megabytes that come to it from outside. It is shared, so that the thread for
 * large bodies reads what arrived where it is; each body writes only to its own piece.
 */
export class BodyArena {
  readonly #bytes: number;
  /** Made when it is needed. What nothing was ever written to costs nothing. */
  #memory: SharedArrayBuffer | undefined;
  readonly #taken: TakenBytes;
  /** In the order of their offsets; none touches the next. */
  #free: Range[];
  readonly #queue: AdmissionQueue<Buffer>;
  readonly #clock: Clock;
  #idle: Timer | undefined;

  constructor(bytes: number, clock: Clock) {
    this.#clock = clock;
    this.#queue = new AdmissionQueue((bytes, passed) => this.#take(bytes, passed), clock);
    this.#bytes = bytes;
    this.#taken = new TakenBytes(bytes);
    this.#free = [{ start: 0, end: bytes }];
  }

  /**
   * A piece for a body, when there is one in which it fits, with whatever was in it before. `release` gives it back.
   * @param gone ends the wait with its reason, or because the sender has gone
   * @throws HooklineError NO_ROOM where too many wait, BODY_INCOMPLETE where `gone`
   */
  acquire(bytes: number, gone?: AbortSignal, by?: Partial<Waiter>): Promise<Buffer> {
    return this.#queue.acquire(bytes, Number.POSITIVE_INFINITY, gone, by);
  }

  /** How many wait for a piece. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** What is missing for the first ones: all of a piece, as what is free may be in pieces that are too small. */
  *lacks(now: number): Generator<Lack> {
    for (const lack of this.#queue.lacks(now, () => 0)) yield { ...lack, bytes: lack.forFirst };
  }

  /** Gives back what `acquire` gave, when it is not read any more. */
  release({ byteOffset: start, length }: Buffer): void {
    this.#taken.add(-length);
    this.#free.push({ start, end: start + length });
    this.#free.sort((a, b) => a.start - b.start);
    this.#free = this.#free.reduce<Range[]>((joined, range) => {
      const last = joined.at(-1);
      if (last?.end === range.start) last.end = range.end;
      else joined.push(range);
      return joined;
    }, []);
    this.#queue.admitNext();
    this.#dropWhenIdle();
  }

  #isUnused(): boolean {
    const [first] = this.#free;
    return first?.start === 0 && first.end === this.#bytes;
  }

  #dropWhenIdle(): void {
    this.#idle?.cancel();
    if (!this.#isUnused()) return;
    this.#idle = this.#clock.after(
      IDLE_MS,
      () => {
        if (!this.#isUnused()) return;
        this.#memory = undefined;
        // A process with little to do would collect it hours later.
        collectGarbage();
      },
      { ref: false },
    );
  }

  /**
   * The first place that is large enough: the same pages are used again, as long as there are few bodies. One that passes a larger
   * one has the end of the last: the larger one waits for a long place.
   */
  #take(bytes: number, passed?: number): Buffer | null {
    if (this.#taken.all > 0 && bytes > this.#taken.freeFor(bytes, passed)) return null;
    const fits = ({ start, end }: Range) => end - start >= bytes;
    const range = passed === undefined ? this.#free.find(fits) : this.#free.findLast(fits);
    if (!range) return null;
    // Before anything is counted: it throws where the machine does not give so much.
    this.#memory ??= new SharedArrayBuffer(this.#bytes);
    const start = passed === undefined ? range.start : range.end - bytes;
    if (passed === undefined) range.start += bytes;
    else range.end -= bytes;
    this.#free = this.#free.filter((one) => one.start < one.end);
    this.#taken.add(bytes);
    return Buffer.from(this.#memory, start, bytes);
  }
}
