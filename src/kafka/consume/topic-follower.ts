import type { IncomingRecord, Position } from '../../core/record.ts';
import { type Clock, pause } from '../../runtime/clock.ts';
import { type Backoff, delayBefore, retry } from '../../runtime/retry.ts';
import { apiIdOf } from '../connect/platformatic-client.ts';
import type { Fetched } from './read-answer.ts';
import { openStarted, type TopicDeps, type TopicFetcher } from './topic-fetcher.ts';

export type FollowerDeps = TopicDeps & {
  /** One record after the other, each once. A rejected one comes again. */
  readonly onRecord: (record: IncomingRecord) => void | Promise<void>;
  /** Where it begins, unless at the oldest record: with what comes after the start, or with what was written since then (ms). */
  readonly from?: 'now' | number;
  /** The reading was interrupted, and goes on: told once, and again every few seconds while it lasts. */
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
  /** By partition, the offset behind the last record that this process is known to have written. */
  readonly #written = new Map<number, bigint>();
  #rewinds = 0;
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

  /** Leaders move and brokers restart: a reader that catches up waits for that too. */
  #ends(signal: AbortSignal): Promise<ReadonlyMap<number, bigint>> {
    return retry(() => this.#fetcher.offsets('end'), { signal, backoff: ASK_AGAIN, clock: this.#deps.clock });
  }

  #positionOf = (partition: number): bigint => this.#positions.get(partition) ?? 0n;
}

/** What reads partitions, and how far it is. */
export type PartitionsReader = {
  /** Where a partition goes on; undefined where it is not read, or not any more. */
  next(partition: number): bigint | undefined;
  /** Takes what came, one answer after the other. What it rejects comes again. */
  take(fetched: Fetched): Promise<void>;
  /** Its offset is not there: retention has taken it, or the topic is another one of the same name. It goes on at `oldest`. */
  moved(partition: number, oldest: bigint): void;
  /** It is another topic of the same name, with so many partitions. */
  recreated?(partitions: number): void;
  /** The reading was interrupted, and goes on: told once, and again every few seconds while it lasts. */
  onFailure(error: unknown): void;
};

/** 0.1, 0.2, 0.4, 0.5 s, each shortened by up to a quarter. */
const READ_AGAIN: Backoff = { firstMs: 100, factor: 2, maxMs: 500 };
/** New partitions and new leaders are found after so long at most, those that had no leader sooner. */
const LOOK_UP_AFTER_MS = 30_000;
const LEADERLESS_MS = 1_000;
/** Leaders move and sessions end: such an answer counts when it comes this often in a row. */
const IN_A_ROW = 3;
/** The same failure is reported again after so many of it, which is every 8 to 10 s. */
const REPORT_EVERY = 20;
const PASSING = new Set([
  ...['NOT_LEADER_OR_FOLLOWER', 'FENCED_LEADER_EPOCH', 'UNKNOWN_LEADER_EPOCH', 'LEADER_NOT_AVAILABLE'],
  ...['REPLICA_NOT_AVAILABLE', 'OFFSET_NOT_AVAILABLE', 'OFFSET_OUT_OF_RANGE', 'KAFKA_STORAGE_ERROR'],
  ...['INVALID_FETCH_SESSION_EPOCH', 'FETCH_SESSION_ID_NOT_FOUND', 'FETCH_SESSION_TOPIC_ID_ERROR'],
  ...['UNKNOWN_TOPIC_ID', 'INCONSISTENT_TOPIC_ID'],
]);

/** Reads a topic's partitions, those of each broker beside those of the others, until `signal` aborts. */
export async function readPartitions(
  fetcher: TopicFetcher,
  reader: PartitionsReader,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  let topicId: string | undefined;
  let failures = 0;
  let reported: string | undefined;
  const report = (error: unknown) => {
    if (PASSING.has(apiIdOf(error) ?? '') && failures < IN_A_ROW) return;
    const { message } = error as Error;
    if (message !== reported || failures % REPORT_EVERY === 0) reader.onFailure(error);
    reported = message;
  };
  while (!signal.aborted) {
    try {
      const found = await fetcher.lookUp();
      if (topicId !== undefined && topicId !== found.topicId) {
        await toOldest(fetcher, reader, () => true);
        reader.recreated?.(found.leaders.length);
      }
      topicId = found.topicId;
      await readRound(fetcher, reader, found.leaders, { clock, signal });
      failures = 0;
      reported = undefined;
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      if (apiIdOf(error) === 'OFFSET_OUT_OF_RANGE')
        await toOldest(fetcher, reader, isOutside).catch(() => {});
      report(error);
      await pause(clock, delayBefore(failures, READ_AGAIN, clock.random), signal);
    }
  }
}

/** Fetches again and again from each leader, until one of them fails or the leaders are looked up again. */
async function readRound(
  fetcher: TopicFetcher,
  reader: PartitionsReader,
  leaders: readonly (number | undefined)[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const led = Map.groupBy(leaders.keys(), (partition) => leaders[partition]);
  const lasts = led.delete(undefined) ? LEADERLESS_MS : LOOK_UP_AFTER_MS;
  const until = clock.now() + lasts;
  if (led.size === 0) throw new Error('no partition has a leader');
  let isOver = false;
  let hasRead = false;
  let turn = Promise.resolve();
  const take = (fetched: Fetched) => {
    const taken = turn.then(() => (signal.aborted ? undefined : reader.take(fetched)));
    turn = taken.catch(() => {});
    return taken;
  };
  const readFrom = async (node: number, partitions: readonly number[]) => {
    try {
      while (!isOver && !signal.aborted && clock.now() < until) {
        const wanted = partitions.map((partition) => [partition, reader.next(partition)] as const);
        const from = new Map(wanted.filter((one): one is [number, bigint] => one[1] !== undefined));
        if (from.size === 0) return;
        hasRead = true;
        for (const fetched of await fetcher.fetch(node, from)) await take(fetched);
      }
    } catch (error) {
      isOver = true;
      throw error;
    }
  };
  const ends = await Promise.allSettled([...led].map(([node, of]) => readFrom(node as number, of)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (!hasRead && !signal.aborted) throw new Error('the topic has none of the partitions that are read');
}

const isOutside = (at: bigint, oldest: bigint, end: bigint) => at < oldest || at > end;

/** Where an offset is not there any more the oldest one is the next. */
async function toOldest(
  fetcher: TopicFetcher,
  reader: PartitionsReader,
  isGone: (at: bigint, oldest: bigint, end: bigint) => boolean,
): Promise<void> {
  const [oldest, end] = await Promise.all([fetcher.offsets('oldest'), fetcher.offsets('end')]);
  for (const [partition, first] of oldest) {
    const at = reader.next(partition);
    if (at !== undefined && isGone(at, first, end.get(partition) ?? first)) reader.moved(partition, first);
  }
}
