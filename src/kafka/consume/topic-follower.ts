import type { IncomingRecord } from '../../core/record.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import { readPartitions } from './read-partitions.ts';
import { type Fetched, openStarted, type TopicDeps, type TopicFetcher } from './topic-fetcher.ts';

export type FollowerDeps = TopicDeps & {
  /** One record after the other, each once. A rejected one comes again. */
  readonly onRecord: (record: IncomingRecord) => void | Promise<void>;
  /** Where it begins, unless at the oldest record: with what comes after the start, or with what was written since then (ms). */
  readonly from?: 'now' | number;
  /** The reading was interrupted, and goes on: told once, and again every few seconds while it lasts. */
  readonly onBrokenOff?: (error: Error) => void;
};

const CAUGHT_UP_POLL_MS = 20;
/** 0.4 to 0.5 s, before the brokers are asked again. */
const AGAIN: Backoff = { firstMs: 500, factor: 1, maxMs: 500 };

/** Starts to read a whole topic, and goes on with what is written to it. Rejects where the brokers don't answer. */
export async function followTopic(deps: FollowerDeps): Promise<TopicFollower> {
  const fetcher = await openStarted(deps);
  const begin = await begins(fetcher, deps.from).catch((error) => {
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
  readonly #stopping = new AbortController();

  constructor(deps: FollowerDeps, fetcher: TopicFetcher, begin: Iterable<readonly [number, bigint]>) {
    this.#deps = deps;
    this.#fetcher = fetcher;
    this.#positions = new Map(begin);
    const { signal } = this.#stopping;
    const reader = {
      next: (partition: number) => this.#positionOf(partition),
      take: (fetched: Fetched) => this.#take(fetched),
      moved: (partition: number, oldest: bigint) => void this.#positions.set(partition, oldest),
      onFailure: (error: unknown) => deps.onBrokenOff?.(error as Error),
    };
    void readPartitions(fetcher, reader, { clock: deps.clock, signal });
  }

  /** Resolves when everything that the topic held at the time of the call has been handed over. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const ends = [...(await this.#ends(signal))];
    const isBehind = () => ends.some(([partition, end]) => this.#positionOf(partition) < end);
    while (isBehind()) await this.#deps.clock.sleep(CAUGHT_UP_POLL_MS, { signal });
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

  /** Leaders move and brokers restart: a reader that catches up waits for that too. */
  #ends(signal: AbortSignal): Promise<ReadonlyMap<number, bigint>> {
    const { clock } = this.#deps;
    const options = { signal, backoff: AGAIN, clock, again: () => true, onFailure: () => {} };
    return retry(() => this.#fetcher.offsets('end'), options);
  }

  #positionOf = (partition: number): bigint => this.#positions.get(partition) ?? 0n;
}
