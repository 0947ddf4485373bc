import type { TopicLimits } from '../../../src/kafka/admin/topic-limits.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Simulation } from '../engine/simulation.ts';
import type { Cluster } from './cluster.ts';

/** How long a question about the topics' settings takes, at the most. */
const ANSWER_MS = 20;

/**
 * What `createTopicLimits` learns by the client that administers, which is not simulated: each topic's max.message.bytes
 * as it was when it was asked for last.
 */
export function modelLimits(
  simulation: Simulation,
  { topics, limitOf }: Cluster,
  { clock, isAllowed }: { readonly clock: Clock; readonly isAllowed: boolean },
): TopicLimits {
  const known = new Map<string, number>();
  const random = simulation.random('limits');
  return {
    of: (topic) => known.get(topic) ?? Number.MAX_SAFE_INTEGER,
    async renew() {
      await clock.sleep(random.next() * ANSWER_MS);
      if (!isAllowed) return;
      for (const topic of topics.keys()) known.set(topic, limitOf(topic));
    },
  };
}
