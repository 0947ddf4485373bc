import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaClient } from './kafkajs-client.ts';

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
};

const SESSION_MS = 10_000;
const DISCONNECT_MS = 3_000;

/**
 * Takes a right that the brokers keep: the leader of a consumer group holds it. A group has one leader at a time, who
 * stays it while others join, and whose place is free again when he left or was not heard of for 10 seconds: so a
 * crash needs no tidying up. (Kafka Connect and Schema Registry elect their leaders the same way.)
 * @returns the address of the process that has it, where it is not this one
 */
export async function holdAlone(parts: HoldParts): Promise<Hold | { readonly heldBy: string }> {
  const { kafka, groupId, topic } = parts;
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
    consumer.pause([{ topic }]);
    const { isLeader, leaderId } = await joined.promise;
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
