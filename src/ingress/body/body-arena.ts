import type { Clock, Timer } from '../../runtime/clock.ts';
import { collectGarbage } from '../../runtime/v8-flags.ts';
import { AdmissionQueue, type Waiter } from './byte-semaphore.ts';
import { shareOf } from './memory-shares.ts';

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
  /** In the order of their offsets; none touches the next. */
  #free: Range[];
  readonly #queue: AdmissionQueue<Buffer>;
  readonly #clock: Clock;
  #idle: Timer | undefined;

  constructor(bytes: number, clock: Clock) {
    this.#clock = clock;
    this.#queue = new AdmissionQueue((bytes) => this.#take(bytes), clock);
    this.#bytes = bytes;
    this.#free = [{ start: 0, end: bytes }];
  }

  /**
   * A piece for a body, when there is one in which it fits, with whatever was in it before. `release` gives it back.
   * @param gone ends the wait with its reason, or because the sender has gone
   * @throws HooklineError BODY_INCOMPLETE where `gone`
   */
  acquire(bytes: number, gone?: AbortSignal, by?: Partial<Waiter>): Promise<Buffer> {
    return this.#queue.acquire(bytes, Number.POSITIVE_INFINITY, gone, by);
  }

  /** The next one to have a piece. */
  get first(): Waiter | undefined {
    return this.#queue.first;
  }

  /** Gives back what `acquire` gave, when it is not read any more. */
  release({ byteOffset: start, length }: Buffer): void {
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

  /** The first place that is large enough: the same pages are used again, as long as there are few bodies. */
  #take(bytes: number): Buffer | null {
    const free = this.#free.reduce((sum, { start, end }) => sum + end - start, 0);
    const left = this.#bytes - free + bytes;
    if (free < this.#bytes && left > shareOf(this.#bytes, bytes)) return null;
    const range = this.#free.find(({ start, end }) => end - start >= bytes);
    if (!range) return null;
    const { start } = range;
    range.start += bytes;
    this.#free = this.#free.filter((one) => one.start < one.end);
    this.#memory ??= new SharedArrayBuffer(this.#bytes);
    return Buffer.from(this.#memory, start, bytes);
  }
}
