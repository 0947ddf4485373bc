import '../connect/client-patches.ts';
import { Consumer } from '@platformatic/kafka';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import { clipValues } from '../connect/clip-values.ts';
import type { KafkaConnection } from '../connect/connection.ts';
import { cutWhenSilent } from '../connect/cut-when-silent.ts';
import { apiIdOf, clientOptions, WatchedClient } from '../connect/platformatic-client.ts';
import { type Fetched, gapsIn, readAnswer } from './read-answer.ts';

/** The records of one topic, as the leaders of its partitions have them: no consumer group, and so no rights to one. */
export type TopicFetcher = {
  /** Asks the brokers who leads each partition. Rejects as its other methods do: with KAFKA_REFUSED where it is not allowed to read. */
  lookUp(): Promise<TopicLeaders>;
  /** By partition: the oldest offset, the one behind the newest, or the first of a record since that time (ms since 1970). */
  offsets(at: 'oldest' | 'end' | number): Promise<ReadonlyMap<number, bigint>>;
  /** What a broker has of the partitions that it leads, by partition from an offset on; waits half a second for the first record. */
  fetch(node: number, from: ReadonlyMap<number, bigint>): Promise<readonly Fetched[]>;
  /** Bytes that have come over the connections that are open: a large record comes slowly over a slow line. */
  receivedBytes?(): number;
  /** Cuts its connections: what it was asked rejects. */
  close(): void;
};

export type OpenTopic = (topic: string, limits?: FetchLimits) => TopicFetcher;

/** For readers that have little memory. */
export type FetchLimits = {
  /** Bytes of an answer, unless its first batch is larger. */
  readonly maxBytes: number;
  /** Bytes that are kept of a value; `lengthOf` tells how many it has in Kafka. */
  readonly maxValueBytes: number;
};

export type TopicDeps = {
  readonly openTopic: OpenTopic;
  readonly topic: string;
  readonly clock: Clock;
  /** Ends the wait for brokers that have not answered yet. */
  readonly opening?: AbortSignal | undefined;
};

export type TopicLeaders = {
  /** Another one if the topic was deleted and created anew. */
  readonly topicId: string;
  /** By partition, the broker that leads it; undefined while none does. */
  readonly leaders: readonly (number | undefined)[];
};

const MAX_WAIT_MS = 500;
const REQUEST_TIMEOUT_MS = 3_000;
/** A record of 95 MB over a line of 1 MB/s; a broker that sends nothing is given up after REQUEST_TIMEOUT_MS all the same. */
const FETCH_TIMEOUT_MS = 100_000;
const METADATA_MAX_AGE_MS = 30_000;
/** As kafkajs has them. A record that is larger comes all the same, alone. */
const MAX_BYTES = 10 * 1_048_576;
const MAX_PARTITION_BYTES = 1_048_576;
/** Records of transactions that are not committed yet, or were aborted, are not handed over. */
const READ_COMMITTED = 1;
/** `local`: the first one on the broker's own disk; those before it are in tiered storage. */
const TIMES = { oldest: -2n, end: -1n, local: -4n };
/** What brokers say that know no tiered storage. */
const UNKNOWN_TIME = new Set(['UNSUPPORTED_VERSION', 'INVALID_REQUEST']);
const NO_OFFSET = -1n;

/** Makes no connection yet. */
export function openFetcher(
  connection: KafkaConnection,
  { clientId, clock }: { readonly clientId: string; readonly clock: Clock },
  topic: string,
  limits?: FetchLimits,
): TopicFetcher {
  const { maxBytes = MAX_BYTES, maxValueBytes } = limits ?? {};
  const silentMs = REQUEST_TIMEOUT_MS + MAX_WAIT_MS;
  const open = (requestTimeoutMs: number) => {
    const client = new Consumer({
      ...clientOptions(connection, { clientId, requestTimeoutMs }),
      // Demanded by the client, and never joined.
      groupId: clientId,
      metadataMaxAge: METADATA_MAX_AGE_MS,
    });
    client.topics.track(topic);
    client.connections.on('connecting', ({ connection: made }) => {
      if (maxValueBytes !== undefined) clipValues(made, maxValueBytes);
      if (requestTimeoutMs > silentMs) cutWhenSilent(made, silentMs, clock);
    });
    return new WatchedClient(client, connection);
  };
  // A broker answers a connection's requests one after the other: a question would wait behind a fetch that waits.
  const asking = open(silentMs);
  const fetching = open(FETCH_TIMEOUT_MS);
  const explained = async <T>(watched: typeof asking, request: () => Promise<T>): Promise<T> => {
    try {
      return await request();
    } catch (error) {
      if (apiIdOf(error) === 'TOPIC_AUTHORIZATION_FAILED') throw forbidden(topic, error);
      if (apiIdOf(error) === 'LEADER_NOT_AVAILABLE')
        throw new Error(`${topic}: one of its partitions has no leader`, { cause: error });
      throw watched.explain(error);
    }
  };
  const describe = async (watched: typeof asking, forceUpdate: boolean) => {
    const { topics, brokers } = await watched.metadata({ topics: [topic], forceUpdate });
    const found = topics.get(topic);
    if (!found) throw new Error(`the metadata has no topic ${topic}`);
    return { ...found, brokers };
  };
  const lookUp = async (watched: typeof asking): Promise<TopicLeaders> => {
    const { id, partitions, brokers } = await describe(watched, true);
    const leaders = partitions.map(({ leader }) => (brokers.has(leader) ? leader : undefined));
    return { topicId: id, leaders };
  };
  const listOffsets = async (timestamp: bigint, of?: readonly number[]): Promise<readonly bigint[]> => {
    const options = { topics: [topic], timestamp, isolationLevel: READ_COMMITTED };
    const partitions = of && { partitions: { [topic]: [...of] } };
    return (await asking.client.listOffsets({ ...options, ...partitions })).get(topic) ?? [];
  };
  const localStarts = (of: readonly number[]): Promise<readonly bigint[]> =>
    listOffsets(TIMES.local, of).catch((error) => {
      if (UNKNOWN_TIME.has(apiIdOf(error) ?? '')) return [];
      throw error;
    });
  return {
    lookUp: () => explained(fetching, () => lookUp(fetching)),
    offsets: (at) =>
      explained(asking, async () => {
        const { leaders } = await lookUp(asking);
        const leaderless = leaders.indexOf(undefined);
        if (leaderless >= 0) throw new Error(`${topic}[${leaderless}] has no leader`);
        const listed = await listOffsets(typeof at === 'number' ? BigInt(at) : TIMES[at]);
        // Where no record is as young as that, what comes next is.
        const ends = listed.includes(NO_OFFSET) ? await listOffsets(TIMES.end) : listed;
        return new Map(listed.map((offset, n) => [n, offset === NO_OFFSET ? (ends[n] ?? 0n) : offset]));
      }),
    fetch: (node, from) =>
      explained(fetching, async () => {
        const { id: topicId } = await describe(fetching, false);
        const partitions = [...from].map(([partition, fetchOffset]) => ({
          partition,
          fetchOffset,
          partitionMaxBytes: MAX_PARTITION_BYTES,
          currentLeaderEpoch: -1,
          lastFetchedEpoch: -1,
        }));
        const answer = await fetching.client.fetch({
          node,
          minBytes: 1,
          maxBytes,
          maxWaitTime: MAX_WAIT_MS,
          isolationLevel: READ_COMMITTED,
          topics: [{ topicId, partitions }],
        });
        const gaps = gapsIn(answer, from);
        return readAnswer(topic, answer, from, gaps.length > 0 ? await localStarts(gaps) : []);
      }),
    receivedBytes: () => fetching.bytesRead,
    close() {
      asking.destroy();
      fetching.destroy();
    },
  };
}

export const forbidden = (topic: string, cause: unknown) =>
  new HooklineError('KAFKA_REFUSED', `${topic}: this user may not read it`, {
    remedy: 'grant Describe and Read on this topic to the user that Hookline logs in as',
    cause,
  });

/** 0.1, 0.2, 0.4, 0.8, 1 s: a topic that was created just now, or a broker that starts. */
const STARTING: Backoff = { firstMs: 100, factor: 2, maxMs: 1_000 };
const STARTS = 6;

/** Asks what is refused for a moment: partitions that were made just now, or whose leader moves, have none. */
export function askStarting<T>(
  ask: () => Promise<T>,
  { clock, opening: signal = new AbortController().signal }: Pick<TopicDeps, 'clock' | 'opening'>,
): Promise<T> {
  let starts = 0;
  const again = (error: unknown) => ++starts < STARTS && !hasCode(error, 'KAFKA_REFUSED');
  const answer = retry(ask, { backoff: STARTING, signal, clock, again });
  // Cut off from brokers that say nothing, the client would leave it open.
  return orAborted(answer, signal);
}

/** A topic whose brokers have answered. Rejects with what they said last, or where they said nothing. */
export async function openStarted(deps: TopicDeps): Promise<TopicFetcher> {
  const fetcher = deps.openTopic(deps.topic);
  try {
    await askStarting(() => fetcher.lookUp(), deps);
    return fetcher;
  } catch (error) {
    fetcher.close();
    throw error;
  }
}
