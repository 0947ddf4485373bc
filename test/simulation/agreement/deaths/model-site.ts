import { createRandom } from '../../../faults/random.ts';
import type { Cluster } from '../../kafka/cluster.ts';
import { modelTarget } from '../wire/model-target.ts';
import { BROKERS, PARTITIONS } from './plan.ts';
import { SESSION_MS } from './real-site.ts';
import type { Site } from './site.ts';

/** What a broker's program takes until it registers. */
const START_MS = { least: 1_500, most: 8_000 };
const MAX_BYTES = 1_000_000;

/** The model's brokers. `chance` decides what differs between two runs of one plan: latencies, and when deaths are noticed. */
export function modelSite(chance: number, topic: string): Site & { readonly cluster: Cluster } {
  const topics = [{ name: topic, partitions: PARTITIONS, maxBytes: MAX_BYTES }];
  const { target, cluster } = modelTarget(chance, { brokers: BROKERS, minIsr: 2, topics, hasGroup: true });
  const random = createRandom(chance, 'deaths');
  const noticedAfter = () => random.between(SESSION_MS - 1_000, SESSION_MS + 2_000);
  return {
    target,
    cluster,
    async begin({ kind, brokers, ms }) {
      for (const id of brokers) {
        if (kind === 'kill') cluster.broker(id).kill(noticedAfter());
        else cluster.broker(id).freeze(ms, noticedAfter());
      }
    },
    end({ kind, brokers }) {
      if (kind === 'freeze') return () => true;
      const startsAt = brokers.map((id) => ({
        broker: cluster.broker(id),
        at: target.now() + random.between(START_MS.least, START_MS.most),
      }));
      return () => {
        for (const { broker, at } of startsAt) if (!broker.isUp && target.now() >= at) broker.start();
        return startsAt.every(({ broker }) => broker.isUp && !broker.isFenced);
      };
    },
  };
}
