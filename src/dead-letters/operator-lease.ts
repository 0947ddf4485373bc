import { OWN_TOPICS, topicName } from '../core/names.ts';
import { checkTopics } from '../kafka/admin/watch-safety.ts';
import { acquireLeaderLease, type HeldLease } from '../kafka/consume/leader-lease.ts';
import type { KafkaAccess } from '../kafka/open-kafka.ts';
import { orAborted } from '../runtime/or-aborted.ts';

/**
 * The right to redrive or dismiss: two redrives at once would publish everything twice.
 * @throws HooklineError TOPICS_MISSING: the group of a topic that is not there tells neither its name nor what to do
 * @throws Error that says where another one runs
 */
export async function acquireOperatorLease(
  kafka: Pick<KafkaAccess, 'client' | 'clock'>,
  prefix: string,
  signal: AbortSignal,
): Promise<HeldLease> {
  const topic = topicName(prefix, OWN_TOPICS.deadLetter);
  await orAborted(checkTopics(kafka.client, [topic]), signal);
  const group = { groupId: `${topic}.redrive`, topic, clock: kafka.clock };
  const lease = await acquireLeaderLease({ kafka: kafka.client, ...group, signal });
  if ('holder' in lease)
    throw new Error(`another redrive or dismissal is running at ${lease.holder}: wait until it ends`);
  return lease;
}
