import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaClient } from '../connect/kafkajs-client.ts';

/** The right to do alone what several processes may want to do. */
export type Hold = {
  /** Aborted when the right is lost: this process was not heard of for too long, and another may have it now. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
};

export type HoldParts = {
  readonly kafka: KafkaClient;
  /** Names what is held: the same in every process that wants it. */
  readonly groupId: string;
  /** Any topic that may be read: a group has to have one. Nothing is taken from it. */
  readonly topic: string;
  /** Ends the wait for brokers that are not ready: the call then rejects. */
  readonly signal?: AbortSignal;
};

const SESSION_MS = 10_000;
const DISCONNECT_MS = 3_000;
/** How long brokers may take that have just started, or have just lost the one that kept the group. */
const READY_WITHIN_MS = 20_000;
const AGAIN_MS = 500;
/** What brokers answer meanwhile, by Kafka's names. */
const NOT_READY = /GROUP_LOAD_IN_PROGRESS|GROUP_COORDINATOR_NOT_AVAILABLE|NOT_COORDINATOR_FOR_GROUP/;

/**
 * Takes a right that the brokers keep: the leader of a consumer group holds it. A group has one leader at a time, who
 * stays it while others join, and whose place is free again when he left or was not heard of for 10 seconds: so a
 * crash needs no tidying up. (Kafka Connect and Schema Registry elect their leaders the same way.)
 * @returns the address of the process that has it, where it is not this one
 */
export async function holdAlone(parts: HoldParts): Promise<Hold | { readonly heldBy: string }> {
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      return await tryToHold(parts);
    } catch (error) {
      if (!isNotReady(error) || performance.now() > giveUpAt) throw error;
      await sleep(AGAIN_MS, undefined, { signal: parts.signal });
    }
  }
}

async function tryToHold({ kafka, groupId, topic }: HoldParts) {
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    sessionTimeout: SESSION_MS,
    rebalanceTimeout: SESSION_MS,
    heartbeatInterval: 1_000,
    maxWaitTimeInMs: 500,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => false },
  });
  const lost = new AbortController();
  const joined = Promise.withResolvers<{ isLeader: boolean; leaderId: string }>();
  // Where one of the steps before fails too, nobody waits for it.
  joined.promise.catch(() => {});
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    joined.resolve(payload);
    if (!payload.isLeader) lost.abort();
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    joined.reject(payload.error);
    lost.abort();
  });
  const release = () =>
    Promise.race([consumer.disconnect(), sleep(DISCONNECT_MS, undefined, { ref: false })]);
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic] });
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => {} });
    // A client that could not join has crashed by now, and says so here; it can't be paused any more.
    const { isLeader, leaderId } = await joined.promise;
    consumer.pause([{ topic }]);
    if (isLeader) return { lost: lost.signal, release };
    const { members } = await consumer.describeGroup();
    const leader = members.find(({ memberId }) => memberId === leaderId);
    await release();
    return { heldBy: leader?.clientHost.replace(/^\//, '') ?? 'another process' };
  } catch (error) {
    await release();
    throw error;
  }
}

const isNotReady = (error: unknown): boolean =>
  error instanceof Error &&
  (('type' in error && NOT_READY.test(String(error.type))) || isNotReady(error.cause));
