import { createRandom } from '../../../faults/random.ts';
import { Actor } from '../../engine/simulation.ts';
import type { Cluster } from '../../kafka/cluster.ts';
import { modelTarget } from '../wire/model-target.ts';
import { BROKERS, PARTITIONS, TICK_MS } from './plan.ts';
import { SESSION_MS } from './real-site.ts';
import type { Site } from './site.ts';

/** What a broker's program takes until it registers. */
const START_MS = { least: 1_500, most: 8_000 };
/** A broker takes so long at the most to learn of a change. */
const LAGS_MS = [30, 100, 500];
/** A follower takes so long at the most to fetch what the leader has: brokers die meanwhile. */
const FETCH_LAGS_MS = [1, 10, 50];
/** And so long at the most until it is registered: one that was frozen takes itself for what it was. */
const REGISTER_LAGS_MS = [50, 1_000];
const MOST_MOVES = 8;
const MAX_BYTES = 1_000_000;

/** The model's brokers. `chance` decides what differs between two runs of one plan: latencies, and when deaths are noticed. */
export function modelSite(chance: number, topic: string): Site & { readonly cluster: Cluster } {
  const topics = [{ name: topic, partitions: PARTITIONS, maxBytes: MAX_BYTES }];
  const { target, cluster } = modelTarget(chance, { brokers: BROKERS, minIsr: 2, topics, hasGroup: true });
  const random = createRandom(chance, 'deaths');
  cluster.metadataLagMs = random.pick(LAGS_MS);
  cluster.fetchLagMs = random.pick(FETCH_LAGS_MS);
  cluster.registerLagMs = random.pick(REGISTER_LAGS_MS);
  const mover = new Actor('mover');
  const noticedAfter = () => random.between(SESSION_MS - 1_000, SESSION_MS + 2_000);
  return {
    target,
    cluster,
    async begin({ kind, brokers, ms }) {
      for (const id of brokers) {
        const broker = cluster.broker(id);
        const strike = () =>
          kind === 'kill' ? broker.kill(noticedAfter()) : broker.freeze(ms, noticedAfter());
        // Also while requests are on their way, which the client sends at each tick.
        cluster.simulation.after(random.next() * TICK_MS, broker.machine, strike, { settles: false });
      }
      // Controllers elect for reasons of their own, the more so where two of three have been silent.
      for (let moves = random.between(0, MOST_MOVES); moves > 0; moves--)
        cluster.simulation.after(random.between(0, ms + START_MS.most), mover, () => cluster.moveLeaders(), {
          settles: false,
        });
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
