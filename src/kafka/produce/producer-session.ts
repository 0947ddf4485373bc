import '../connect/client-patches.ts';
import { type Broker, Producer } from '@platformatic/kafka';
import { HooklineError, textWithCode } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KafkaConnection } from '../connect/connection.ts';
import { clientOptions, WatchedClient } from '../connect/platformatic-client.ts';
import { AttemptError, toAttemptError } from './attempt-error.ts';
import type { Batch } from './encode-batch.ts';
import { createProduceBatch } from './produce-batch.ts';

/** One client of the cluster. It believes nothing but the broker's answer for the partition that was asked for. */
export type ProducerSession = {
  /**
   * Sends a batch to one partition of a topic that has `partitions` of them.
   * @param options.looksUpAnew asks for the leader, even if it was heard of lately
   * @returns the offset of the first record, when all in-sync replicas have the batch
   * @throws AttemptError
   */
  send(
    batch: Batch,
    options: { readonly partitions: number; readonly looksUpAnew?: boolean },
  ): Promise<bigint>;
  /** How many partitions the topic has, each with a leader. Throws AttemptError. */
  partitionsOf(topic: string): Promise<number>;
  /** Connects to the leaders of the topics' partitions, as the first send to each would. Throws AttemptError. */
  connect(topics: readonly string[]): Promise<void>;
  /** Why an attempt has had no answer for so long, as far as it is known; the error names the brokers. */
  late?(ms: number): AttemptError;
  /** Cuts its connections at once: after it this client can't write any more, not even what waits in a socket. */
  destroy(): void;
};

const METADATA_MAX_AGE_MS = 2_000;
const REQUEST_TIMEOUT_MS = 3_000;

export type SessionSettings = {
  readonly clientId: string;
  readonly rotation: number;
  readonly clock: Clock;
  /** How long a broker may take to answer; unset means as long as small records take at most. */
  readonly requestTimeoutMs?: number | undefined;
};

/** Opens a session; `rotation` turns the seed brokers. Not idempotent: that mode loses under concurrency. */
export function openProducerSession(
  connection: KafkaConnection,
  { clientId, rotation, clock, requestTimeoutMs = REQUEST_TIMEOUT_MS }: SessionSettings,
): ProducerSession {
  const producer = new Producer({
    ...clientOptions(connection, { clientId, rotation, requestTimeoutMs }),
    idempotent: false,
    repeatOnStaleMetadata: false,
    // A queue has one batch in flight. A request that waits for others here could be written after its deadline.
    maxInflights: Number.MAX_SAFE_INTEGER,
  });
  const produce = createProduceBatch(requestTimeoutMs, clock);
  const watched = new WatchedClient(producer, connection);
  // Set when a broker's answer shows that the metadata is old: the next look-up asks again.
  let stale = false;
  const refresh = (topics: readonly string[]) => {
    const forceUpdate = stale;
    stale = false;
    return watched
      .metadata({ topics: [...topics], forceUpdate, metadataMaxAge: METADATA_MAX_AGE_MS })
      .catch((error: unknown) => {
        throw produce.explain(error);
      });
  };
  const lookUp = async (topic: string) => {
    const metadata = await refresh([topic]);
    const found = metadata.topics.get(topic);
    if (!found) throw new AttemptError('retry', `the metadata has no topic ${topic}`);
    return { ...found, brokers: metadata.brokers };
  };
  const send: ProducerSession['send'] = async (batch, { partitions, looksUpAnew = false }) => {
    const { topic, partition } = batch;
    stale ||= looksUpAnew;
    const found = await lookUp(topic);
    const now = found.partitionsCount;
    // In another partition a key's records would no longer be in order (P3).
    if (now !== partitions)
      throw new AttemptError('replan', `${topic} has ${now} partitions, not ${partitions}`);
    const leader = found.brokers.get(found.partitions[partition]?.leader ?? -1);
    if (!leader) throw new AttemptError('retry', `${topic}[${partition}] has no leader`);
    return produce.send(await producer.connections.get(leader), batch);
  };
  const lookUpLed = async (topic: string) => {
    const found = await lookUp(topic);
    const leaderless = found.partitions.findIndex(({ leader }) => !found.brokers.has(leader));
    if (leaderless >= 0) throw new AttemptError('retry', `${topic}[${leaderless}] has no leader`);
    return found;
  };
  const connect = async (topics: readonly string[]) => {
    // One question about all of them: each of the next finds its answer there.
    await refresh(topics);
    const led = await Promise.all(topics.map(lookUpLed));
    const leaders = new Set(
      led.flatMap(({ partitions, brokers }) => partitions.map(({ leader }) => brokers.get(leader) as Broker)),
    );
    await Promise.all(
      [...leaders].map(async (leader) => produce.prepare(await producer.connections.get(leader))),
    );
  };
  const explained = (failure: AttemptError): AttemptError => {
    if (failure.outcome !== 'unknown') return failure;
    const explanation = watched.explain(failure);
    return explanation instanceof HooklineError
      ? new AttemptError('unknown', textWithCode(explanation), { cause: failure })
      : failure;
  };
  const judged = <T>(attempt: Promise<T>): Promise<T> =>
    attempt.catch((error: unknown) => {
      const judgement = explained(toAttemptError(error));
      // A leader moved, or the topic is new: the next attempt over this client asks afresh.
      if (judgement.outcome === 'retry') stale = true;
      throw judgement;
    });
  return {
    partitionsOf: (topic) => judged(lookUpLed(topic).then(({ partitionsCount }) => partitionsCount)),
    connect: (topics) => judged(connect(topics)),
    send: (batch, options) => judged(send(batch, options)),
    late(ms) {
      const silence = `no answer within ${ms} ms from the brokers at ${connection.brokers.join(', ')}`;
      const cause = Object.assign(new Error(silence), { code: 'ETIMEDOUT' });
      const failure = new AttemptError('unknown', silence, { cause });
      // Brokers that have answered before can be reached.
      return watched.hasAnswered ? failure : explained(failure);
    },
    destroy: () => watched.destroy(),
  };
}
