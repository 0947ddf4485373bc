import { type Clock, pause } from '../../runtime/clock.ts';
import { type Backoff, delayBefore } from '../../runtime/retry.ts';
import { apiIdOf } from '../connect/platformatic-client.ts';
import type { Fetched } from './read-answer.ts';
import type { TopicFetcher } from './topic-fetcher.ts';

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
  'NOT_LEADER_OR_FOLLOWER',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'LEADER_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
  'OFFSET_NOT_AVAILABLE',
  'OFFSET_OUT_OF_RANGE',
  'KAFKA_STORAGE_ERROR',
  'INVALID_FETCH_SESSION_EPOCH',
  'FETCH_SESSION_ID_NOT_FOUND',
  'FETCH_SESSION_TOPIC_ID_ERROR',
  'UNKNOWN_TOPIC_ID',
  'INCONSISTENT_TOPIC_ID',
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
