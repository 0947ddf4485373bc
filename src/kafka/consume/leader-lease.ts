import type { Lease } from '../../core/lease.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { GroupConsumer } from './consumer.ts';
import { explainGroupError, isGroupNotReady } from './group-errors.ts';
import { GroupLease, LEASE_CHECK_MS } from './group-lease.ts';

/**
 * The right to do alone what several processes may want to do. It is lost when this process was not heard of for too long, as
 * another may hold it then.
 */
export type HeldLease = Lease & { release(): Promise<void> };

export type LeaderLeaseDeps = {
  readonly kafka: KafkaClient;
  /** Names the lease: the same in every process that competes for it. */
  readonly groupId: string;
  /** Any topic that may be read, as a group has to have one. Nothing is taken from it. */
  readonly topic: string;
  /** Ends the wait for brokers that are not ready: the call then rejects. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
};

const SESSION_MS = 10_000;
/** Somebody waits for its end, and brokers that are not told of it give the lease to another one when the session has ended. */
const LEAVE_MS = 2_000;
/** How long brokers may take that have just started, or have just lost the one that kept the group. */
const READY_WITHIN_MS = 20_000;
const AGAIN: Backoff = { firstMs: 500, factor: 1, maxMs: 500 };

/**
 * Acquires a lease that the brokers keep: the leader of a consumer group holds it. A group has one leader at a time, who
 * stays it while others join, and another can become it when he has left or was not heard of for 10 seconds: so a crash
 * needs no tidying up. (Kafka Connect and Schema Registry elect their leaders the same way.)
 * @returns the address of the process that holds it, where it is not this one
 * @throws HooklineError KAFKA_UNAVAILABLE where no broker keeps the group, KAFKA_REFUSED where this user may not use it; the client's error
 */
export async function acquireLeaderLease(
  deps: LeaderLeaseDeps,
): Promise<HeldLease | { readonly holder: string }> {
  const { signal, clock, groupId, topic } = deps;
  const giveUpAt = clock.now() + READY_WITHIN_MS;
  return retry(() => join(deps), {
    backoff: AGAIN,
    signal,
    clock,
    again: (error) => isGroupNotReady(error) && clock.now() <= giveUpAt,
  }).catch((error) => Promise.reject(explainGroupError(error, { groupId, topics: [topic] })));
}

async function join({ kafka, groupId, topic, clock }: LeaderLeaseDeps) {
  const lost = new AbortController();
  const joined = Promise.withResolvers<{ isLeader: boolean; leaderId: string }>();
  // Where one of the steps before fails too, nobody waits for it.
  joined.promise.catch(() => {});
  const consumer = new GroupConsumer({
    kafka,
    groupId,
    clock,
    sessionTimeoutMs: SESSION_MS,
    options: { rebalanceTimeout: SESSION_MS, heartbeatInterval: 1_000 },
    onEnd: (error) => {
      joined.reject(client.explain?.(error) ?? error);
      lost.abort();
    },
  });
  const { client } = consumer;
  const lease = new GroupLease(client, SESSION_MS, clock);
  let memberId: string | undefined;
  client.on(client.events.GROUP_JOIN, ({ payload }) => {
    joined.resolve(payload);
    memberId ??= payload.memberId;
    // As another member it can lead again, but others may have led meanwhile.
    if (!payload.isLeader || payload.memberId !== memberId) lost.abort();
  });
  try {
    await consumer.run({ topics: [topic], fromBeginning: false, onRecord: () => false });
    // A client that could not join has ended by now, and says so here; it can't be paused any more.
    const { isLeader, leaderId } = await joined.promise;
    client.pause([{ topic }]);
    if (isLeader) {
      // A broker that does not answer is asked for longer by the client than its group waits.
      const watch = clock.every(LEASE_CHECK_MS, () => lease.isOver && lost.abort(), { ref: false });
      lost.signal.addEventListener('abort', () => watch.cancel(), { once: true });
      const release = () => {
        watch.cancel();
        return consumer.leave(LEAVE_MS);
      };
      const { signal } = lost;
      const check = () => {
        if (lease.isOver) lost.abort();
        signal.throwIfAborted();
      };
      return { signal, check, release };
    }
    const { members } = await client.describeGroup();
    const leader = members.find(({ memberId }) => memberId === leaderId);
    await consumer.leave(LEAVE_MS);
    return { holder: leader?.clientHost.replace(/^\//, '') ?? 'another process' };
  } catch (error) {
    await consumer.leave(LEAVE_MS);
    throw error;
  }
}
