import type { IncomingRecord, Position } from '../../core/record.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { Fetched } from './read-answer.ts';
import { readPartitions } from './read-partitions.ts';
import { askStarting, openStarted, type TopicDeps, type TopicFetcher } from './topic-fetcher.ts';

export type FollowerDeps = TopicDeps & {
  /** One record after the other, each once. A rejected one comes again. */
  readonly onRecord: (record: IncomingRecord) => void | Promise<void>;
  /** Where it begins, unless at the oldest record: with what comes after the start, or with what was written since then (ms). */
  readonly from?: 'now' | number;
  /**
   * The reading was interrupted, or the ends that somebody waits for cannot be asked for, and it goes on: told once, and again every few
   * seconds while it lasts.
   */
  readonly onBrokenOff?: (error: Error) => void;
  /** The partition is read from its oldest record again: the topic is another one of the same name, or has lost its end. */
  readonly onRewound?: (partition: number) => void;
  /** It is another topic of the same name. */
  readonly onRecreated?: () => void;
};

const CAUGHT_UP_POLL_MS = 20;
/** A leader that was frozen, and does not know yet that another leads, does not last so long: what is missing then is lost. */
const STALE_LEADER_MS = 30_000;
/** 0.4 to 0.5 s, before the brokers are asked again. */
const ASK_AGAIN: Backoff = { firstMs: 500, factor: 1, maxMs: 500 };
/** Leaders move: what fails as often in a row is told. */
const TOLD_FROM = 3;
const TELL_EVERY_MS = 10_000;

/** Starts to read a whole topic, and goes on with what is written to it. Rejects where the brokers don't answer. */
export async function followTopic(deps: FollowerDeps): Promise<TopicFollower> {
  const fetcher = await openStarted(deps);
  const begin = await askStarting(() => begins(fetcher, deps.from), deps).catch((error) => {
    fetcher.close();
    throw error;
  });
  return new TopicFollower(deps, fetcher, begin);
}

const begins = async (fetcher: TopicFetcher, from: FollowerDeps['from']) =>
  from === undefined ? [] : fetcher.offsets(from === 'now' ? 'end' : from);

/** Reads all partitions of one topic. */
export class TopicFollower {
  readonly #deps: FollowerDeps;
  readonly #fetcher: TopicFetcher;
  /** By partition, the offset behind the last record that was handed over. */
  readonly #positions: Map<number, bigint>;
  /** By partition, the offset behind the last record that this process is known to have written. */
  readonly #written = new Map<number, bigint>();
  #rewinds = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  readonly #stopping = new AbortController();

  constructor(deps: FollowerDeps, fetcher: TopicFetcher, begin: Iterable<readonly [number, bigint]>) {
    this.#deps = deps;
    this.#fetcher = fetcher;
    this.#positions = new Map(begin);
    const { signal } = this.#stopping;
    const reader = {
      next: (partition: number) => this.#positionOf(partition),
      take: (fetched: Fetched) => this.#take(fetched),
      moved: (partition: number, oldest: bigint) => {
        const isRewound = oldest < this.#positionOf(partition);
        this.#positions.set(partition, oldest);
        this.#written.delete(partition);
        if (!isRewound) return;
        this.#rewinds++;
        deps.onRewound?.(partition);
      },
      recreated: (count: number) => {
        for (const partition of [...this.#positions.keys()].filter((one) => one >= count)) {
          for (const offsets of [this.#positions, this.#written]) offsets.delete(partition);
          deps.onRewound?.(partition);
        }
        this.#rewinds++;
        deps.onRecreated?.();
      },
      onFailure: (error: unknown) => deps.onBrokenOff?.(error as Error),
    };
    void readPartitions(fetcher, reader, { clock: deps.clock, signal });
  }

  /** Brokers have confirmed this record: whoever catches up from now on has it. */
  wrote({ partition, offset }: Pick<Position, 'partition' | 'offset'>): void {
    const next = offset + 1n;
    if (next > (this.#written.get(partition) ?? 0n)) this.#written.set(partition, next);
  }

  /**
   * Resolves when everything that the topic held at the time of the call has been handed over. A broker that led a partition,
   * was frozen and does not know yet that another leads, tells an old end: what `wrote` was called for counts all the same.
   */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const rewinds = this.#rewinds;
    const written = [...this.#written];
    const ends = [...(await this.#ends(signal))];
    const isBehind = ([partition, end]: readonly [number, bigint]) => this.#positionOf(partition) < end;
    while (this.#rewinds === rewinds && ends.some(isBehind)) await clock.sleep(CAUGHT_UP_POLL_MS, { signal });
    // Those ends are of a topic that is there no more.
    if (this.#rewinds !== rewinds) return this.caughtUp(signal);
    const lostAt = clock.now() + STALE_LEADER_MS;
    const isMissing = ([partition, next]: readonly [number, bigint]) =>
      this.#written.has(partition) && isBehind([partition, next]);
    while (written.some(isMissing) && clock.now() < lostAt) await clock.sleep(CAUGHT_UP_POLL_MS, { signal });
    for (const [partition] of written.filter(isMissing)) this.#written.delete(partition);
  }

  partitions = async (signal: AbortSignal): Promise<number[]> => [...(await this.#ends(signal)).keys()];

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#fetcher.close();
  }

  async #take({ partition, records, next }: Fetched): Promise<void> {
    for (const record of records) {
      if (this.#stopping.signal.aborted) return;
      await this.#deps.onRecord(record);
      this.#positions.set(partition, record.offset + 1n);
    }
    this.#positions.set(partition, next);
  }

  /**
   * Leaders move and brokers restart: a reader that catches up waits for that too. It asks over a connection of its own, which may be
   * refused while the one that reads lives on: a password was changed, say.
   */
  #ends(signal: AbortSignal): Promise<ReadonlyMap<number, bigint>> {
    const { clock, onBrokenOff } = this.#deps;
    const onFailure = (error: unknown, attempt: number) => {
      // All commands that wait ask at the same time.
      if (attempt < TOLD_FROM || clock.now() < this.#toldAt + TELL_EVERY_MS) return;
      this.#toldAt = clock.now();
      onBrokenOff?.(error as Error);
    };
    return retry(() => this.#fetcher.offsets('end'), { signal, backoff: ASK_AGAIN, clock, onFailure });
  }

  #positionOf = (partition: number): bigint => this.#positions.get(partition) ?? 0n;
}
