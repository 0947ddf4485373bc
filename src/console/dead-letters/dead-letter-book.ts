import { cutText } from '../../core/cut-text.ts';
import type { DeadLetter } from '../../dead-letters/dead-letters.ts';
import { SharedTexts } from '../../dead-letters/shared-texts.ts';
import { DEAD_LETTER_HEADERS } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { lengthOf } from '../../kafka/connect/clip-values.ts';
import { offsetsIn, openRanges, type RangeReader } from '../../kafka/consume/range-reader.ts';
import type { TopicDeps } from '../../kafka/consume/topic-fetcher.ts';
import { pause } from '../../runtime/clock.ts';
import { HeldDeadLetters } from './held-dead-letters.ts';

export type DeadLetterBookDeps = TopicDeps & {
  readonly onFailure: (error: Error) => void;
  readonly maxRecords?: number;
  readonly pollMs?: number;
};

/** What the console knows of the dead-letter topic. */
export type KnownDeadLetters = {
  /** The oldest first. */
  readonly deadLetters: readonly DeadLetter[];
  /** Something that the topic has is not here, because there is too much: first what was redriven or dismissed. */
  readonly isPartial: boolean;
  /** Older ones that are open and not here. */
  readonly openNotHeld: number;
  /** Offsets that were read, and that there are. */
  readonly read: number;
  readonly total: number;
  readonly failure: string | null;
  /** Grows with each change. */
  readonly version: number;
};

/** Records that are held: about 60 MB of memory. */
const MAX_RECORDS = 30_000;
const POLL_MS = 1_000;
/** Longer texts of a header are for `hookline dlq show`. */
const MAX_HEADER = 500;
const MAX_KEY_BYTES = 4 * MAX_HEADER;
/** Headers of a record beside Hookline's own: others may write into the topic too. */
const MAX_OTHERS = 10;
/** Offsets of a partition that are read before what was read is shown. */
const SLICE = 2_000n;

/** Follows the dead-letter topic and keeps what `hookline dlq list` shows, without bodies. */
export class DeadLetterBook {
  readonly #deps: DeadLetterBookDeps;
  readonly #stopping = new AbortController();
  readonly #following: Promise<void>;
  #reader: RangeReader | undefined;
  #held: HeldDeadLetters;
  readonly #positions = new Map<number, bigint>();
  #known: KnownDeadLetters = {
    deadLetters: [],
    isPartial: false,
    openNotHeld: 0,
    read: 0,
    total: 0,
    failure: 'the topic was not read yet',
    version: 0,
  };
  #isStale = false;
  readonly #texts = new SharedTexts();

  constructor(deps: DeadLetterBookDeps) {
    this.#deps = deps;
    this.#held = this.#nothing();
    this.#following = this.#follow();
  }

  deadLetters(): KnownDeadLetters {
    if (this.#isStale) this.#known = { ...this.#known, deadLetters: this.#held.deadLetters() };
    this.#isStale = false;
    return this.#known;
  }

  /** Why the topic cannot be read now; null until it was tried once. */
  get failure(): string | null {
    return this.version === 0 ? null : this.#known.failure;
  }

  get version(): number {
    return this.#known.version;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reader?.stop();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { clock, onFailure, pollMs = POLL_MS } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        while (!signal.aborted && (await this.#readOn()));
      } catch (error) {
        if (signal.aborted) return;
        const { message } = error as Error;
        if (message !== this.#known.failure) onFailure(error as Error);
        this.#change({ failure: message });
        // Its connections may be what has failed.
        await this.#reader?.stop();
        this.#reader = undefined;
      }
      await pause(clock, pollMs, signal);
    }
  }

  /** Reads the next slice of each partition. Whether there is more. */
  async #readOn(): Promise<boolean> {
    this.#reader ??= await openRanges(this.#deps);
    const span = await this.#reader.span();
    if (span.some(({ partition, to }) => to < (this.#positions.get(partition) ?? 0n))) this.#beginAnew();
    const ranges = span.map(({ partition, from, to }) => {
      const position = this.#positions.get(partition) ?? 0n;
      const next = position > from ? position : from;
      return { partition, from: next, to: to - next > SLICE ? next + SLICE : to };
    });
    let records = 0;
    let { size } = this.#held;
    try {
      await this.#reader.read(ranges, ({ partition, offset, timestamp, key, value, headers }) => {
        records++;
        const bytes = value === null ? 0 : lengthOf(value);
        const few = Object.fromEntries(
          headersToHold(headers).map(([name, text]) => [this.#shared(name), this.#shared(text)]),
        );
        const name = key && cutText(key.subarray(0, MAX_KEY_BYTES).toString(), MAX_HEADER);
        this.#held.take({ partition, offset, timestamp, key: name, bytes, headers: few });
        // At once: where another partition cannot be read, these are not taken again.
        this.#positions.set(partition, offset + 1n);
      });
      for (const { partition, to } of ranges) this.#positions.set(partition, to);
      ({ size } = this.#held);
    } finally {
      this.#held.tidy(new Map(span.map(({ partition, from }) => [partition, from])), this.#positions);
    }
    const total = offsetsIn(span);
    const left = span.reduce(
      (sum, { partition, to }) => sum + Number(to - (this.#positions.get(partition) ?? 0n)),
      0,
    );
    const { isPartial, openNotHeld } = this.#held;
    const isChanged = records > 0 || this.#held.size !== size || this.#known.failure !== null;
    if (isChanged || total !== this.#known.total)
      this.#change({ isPartial, openNotHeld, total, read: total - left, failure: null });
    return left > 0;
  }

  #shared = (text: string): string => this.#texts.of(cutText(text, MAX_HEADER));

  #beginAnew(): void {
    this.#held = this.#nothing();
    this.#positions.clear();
    this.#change({ isPartial: false, openNotHeld: 0 });
  }

  #nothing = () => new HeldDeadLetters(this.#deps.maxRecords ?? MAX_RECORDS);

  #change(more: Partial<KnownDeadLetters>): void {
    this.#isStale = true;
    this.#known = { ...this.#known, ...more, version: this.#known.version + 1 };
  }
}

const OWN: ReadonlySet<string> = new Set(Object.values(DEAD_LETTER_HEADERS));

function headersToHold(headers: Readonly<Record<string, string>>): [string, string][] {
  let others = 0;
  return Object.entries(headers).filter(([name]) => OWN.has(name) || ++others <= MAX_OTHERS);
}
