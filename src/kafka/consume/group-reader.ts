import kafkajs from 'kafkajs';
import { hasCode, textWithCode } from '../../core/errors.ts';
import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import { isRefusal } from '../connect/explain-refusal.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { AssignedWork } from './assigned-work.ts';
import { GroupConsumer } from './consumer.ts';
import { checkReadable, explainGroupError, isGroupNotReady, isTopicDenied } from './group-errors.ts';
import { KeyedQueue } from './keyed-queue.ts';
import { RecreatedTopics } from './recreated-topics.ts';
import { singleWorkerAssigner } from './single-worker-assigner.ts';
import type { OpenTopic } from './topic-fetcher.ts';
import { watchTopicIds } from './watch-topic-ids.ts';

/**
 * Reads topics in a group, of which one process works at a time, and commits a record when it and all before it in its
 * partition are done.
 */
export type GroupReader = {
  /** Milliseconds since the group was last heard of: liveness. */
  silentFor(): number;
  /** For readiness: why nothing is read while the brokers refuse the credentials or a right, or keep no group; or null. */
  trouble(): string | null;
  /** Waits for the handlers under way, then leaves the group. */
  stop(): Promise<void>;
};

export type GroupReaderDeps = {
  readonly kafka: KafkaClient;
  /** To see whether a topic is still the same. */
  readonly openTopic: OpenTopic;
  readonly groupId: string;
  readonly topics: readonly string[];
  /** After so long a silence the brokers give a process's partitions to another. */
  readonly sessionTimeoutMs: number;
  /**
   * Records that share one of these keys are handled one after the other, in the order in which they came; all others
   * concurrently. So a slow record delays only those with its keys. If it rejects it is called again, and the record's
   * partition waits: it is not known yet what may run beside the record.
   */
  readonly keysOf: (record: IncomingRecord) => Promise<readonly string[]>;
  /**
   * When it resolves the record is done; when it rejects, it is called again. Its effects must be safe to repeat: after a
   * crash records come again. `lease` ends when the process stops or the partition is another's.
   */
  readonly handle: (record: IncomingRecord, lease: Lease) => Promise<void>;
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  /**
   * This process works from now on, alone in the group, until the lease ends; or, null, it stands by. The lease is that of
   * the group: it also ends when the brokers were not heard of for so long that another process may work by now.
   */
  readonly onWorking: (lease: Lease | null) => void;
  /**
   * The brokers refuse the credentials, or a right to the group or a topic, or none of them keeps the group: it is tried again, with
   * the credentials that the files hold then. null when something is read again.
   */
  readonly onRefused: (error: Error | null) => void;
  /** Nothing is read for now, by this error: told at most once a minute. */
  readonly onInterrupted: (error: Error) => void;
  /** A topic was deleted, and created anew: it is read from its beginning. */
  readonly onRecreated: (topic: string) => void;
  /** The consumer has ended for good: only a new process reads on. */
  readonly onFatal: (error: Error) => void;
  readonly clock: Clock;
};

const PARTITIONS_AT_ONCE = 16;
/** Records that are handled at the same time, over all partitions; the topics share them. */
const MAX_AT_ONCE = 32;
/** 1.5 to 2 s before what was refused is tried again. */
const REJOIN: Backoff = { firstMs: 2_000, factor: 1, maxMs: 2_000 };
const TELL_AGAIN_MS = 60_000;
/** Handlers under way are waited for so long. */
const FINISH_MS = 15_000;

/** @throws HooklineError KAFKA_REFUSED where this user may not use the group; the client's error where it cannot be joined */
export async function readInGroup(deps: GroupReaderDeps): Promise<GroupReader> {
  const { clock } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const queue = new KeyedQueue(MAX_AT_ONCE, deps.topics);
  const recreated = new RecreatedTopics(clock);
  let heardAt = clock.now();
  const onHeard = () => {
    heardAt = clock.now();
  };
  let toldAt = Number.NEGATIVE_INFINITY;
  const onRestart = (error: Error) => {
    if (clock.now() - toldAt < TELL_AGAIN_MS) return;
    toldAt = clock.now();
    deps.onInterrupted(explainGroupError(error, deps) as Error);
  };
  let refused: Error | undefined;
  const onFailure = (error: unknown) => {
    if ((error as Error).message !== refused?.message) deps.onRefused(error as Error);
    refused = error as Error;
  };
  // Only now: a group can be joined by whoever may not read its topics.
  const onFetched = () => {
    if (refused !== undefined) deps.onRefused(null);
    refused = undefined;
  };
  /**
   * kafkajs ends for good when credentials or rights are refused, or no broker keeps the group for seconds. The files may hold others
   * by now, rights be granted, and brokers come back.
   */
  const onEnd = async (ended: Error) => {
    // Of credentials, the next attempt tells more.
    if (hasCode(ended, 'KAFKA_REFUSED') || isGroupNotReady(ended)) onFailure(ended);
    else if (!isRefusal(ended)) return deps.onFatal(ended);
    const join = async () => {
      onHeard();
      // Each join in vain would begin work that ends at once.
      if (isTopicDenied(ended)) await checkReadable(deps.openTopic, deps.topics);
      signal.throwIfAborted();
      open = await openMember();
      if (signal.aborted) await open.consumer.leave();
    };
    await clock.sleep(REJOIN.firstMs, { signal });
    await retry(join, { backoff: REJOIN, signal, onFailure, clock });
  };
  const openMember = () =>
    joinGroup(deps, {
      queue,
      recreated,
      clock,
      signal,
      onHeard,
      onFetched,
      onRestart,
      // Nothing rejects here but what the stop has interrupted.
      onEnd: (error) => void onEnd(error).catch(() => {}),
    });
  let open = await openMember();
  const topicIds = watchTopicIds({
    openTopic: deps.openTopic,
    topics: deps.topics,
    clock,
    onOther(topic) {
      deps.onRecreated(topic);
      recreated.add(topic);
      open.work.beginAnew();
    },
  });
  return {
    silentFor: () => clock.now() - heardAt,
    trouble: () => (refused ? textWithCode(refused) : null),
    async stop() {
      stopping.abort();
      topicIds.stop();
      await Promise.race([open.work.finish(), clock.sleep(FINISH_MS, { ref: false })]);
      await open.consumer.leave();
    },
  };
}

type Membership = {
  readonly queue: KeyedQueue;
  readonly recreated: RecreatedTopics;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onHeard: () => void;
  readonly onFetched: () => void;
  readonly onRestart: (error: Error) => void;
  readonly onEnd: (error: Error) => void;
};

async function joinGroup(
  deps: GroupReaderDeps,
  { queue, recreated, clock, signal, onHeard, onFetched, onRestart, onEnd }: Membership,
): Promise<{ consumer: GroupConsumer; work: AssignedWork }> {
  const { kafka, groupId, sessionTimeoutMs } = deps;
  let hasJoined = false;
  let failure: unknown;
  const consumer = new GroupConsumer({
    kafka,
    groupId,
    sessionTimeoutMs,
    clock,
    restarts: true,
    onRestart,
    options: {
      heartbeatInterval: Math.round(sessionTimeoutMs / 4),
      rebalanceTimeout: 60_000,
      // The second is for a group that also has members of an older version, until they are gone.
      partitionAssigners: [singleWorkerAssigner(() => work.count()), kafkajs.PartitionAssigners.roundRobin],
    },
    onEnd(error) {
      work.end();
      failure = explainGroupError(error, deps);
      if (hasJoined) onEnd(failure as Error);
    },
  });
  const { client } = consumer;
  const work = new AssignedWork({ ...deps, clock, consumer: client, queue, recreated });
  for (const event of ['HEARTBEAT', 'FETCH', 'GROUP_JOIN'] as const) client.on(client.events[event], onHeard);
  client.on(client.events.FETCH, onFetched);
  try {
    await consumer.run({
      topics: deps.topics,
      partitionsAtOnce: PARTITIONS_AT_ONCE,
      // Taking a record does not wait for the work on it: while a batch is being handled kafkajs fetches nothing more
      // from the same broker, whatever the partition.
      onRecord(record) {
        if (!signal.aborted) return work.take(record);
        // Else it would be fetched again at once, and again, until the group is left.
        client.pause([{ topic: record.topic, partitions: [record.partition] }]);
        return false;
      },
      onPassed: (topic, partition, next) => work.pass({ topic, partition }, next),
    });
    if (failure !== undefined) throw failure;
    hasJoined = true;
  } catch (error) {
    work.end();
    await consumer.leave();
    throw explainGroupError(error, deps);
  }
  return { consumer, work };
}
