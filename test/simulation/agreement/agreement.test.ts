import { describe, expect, it } from 'vitest';
import type { Cluster } from '../kafka/cluster.ts';
import type { Partition } from '../kafka/partition.ts';
import { oneBroker, runSeed } from './connections/run-seed.ts';
import { isFault } from './connections/run-seeds.ts';
import { modelTarget } from './wire/model-target.ts';

const SEEDS = 30;

/** The model in the place of the broker, and beside it the same model, or one that lies. */
async function differencesWith(sabotage?: (cluster: Cluster) => void): Promise<string[]> {
  const found: string[] = [];
  for (let seed = 1; seed <= SEEDS && found.length === 0; seed++) {
    const { target: broker } = modelTarget(1_000 + seed, oneBroker('t'));
    const result = await runSeed(seed, { broker, topic: 't', isFault, ...(sabotage && { sabotage }) });
    found.push(...result.differences.filter(isFault).map(({ path }) => path));
  }
  return found;
}

const ofData = (change: (partition: Partition) => void) => (cluster: Cluster) =>
  cluster.topics.get('t')?.forEach(change);

const LIES: Readonly<Record<string, (cluster: Cluster) => void>> = {
  'an offset is one too high': ofData((partition) => {
    const { append } = partition;
    partition.append = (broker, batch, how, answer) =>
      append.call(partition, broker, batch, how, ({ code, base }) => answer({ code, base: base + 1 }));
  }),
  'a batch is stored twice': ofData((partition) => {
    const { append } = partition;
    partition.append = (broker, batch, how, answer) => {
      append.call(partition, broker, batch, { ...how, acks: 1 }, () => {});
      return append.call(partition, broker, batch, how, answer);
    };
  }),
  'a batch is answered and not stored': ofData((partition) => {
    const { append } = partition;
    let left = 5;
    partition.append = (...args) => {
      const waiter = append.apply(partition, args);
      if (--left === 0) partition.log(1).pop();
      return waiter;
    };
  }),
  'a topic takes one byte more': (cluster) => {
    const { limitOf } = cluster;
    cluster.limitOf = (topic) => limitOf(topic) + 1;
  },
  'what nobody has is taken for a topic': ({ topics }) => {
    const get = topics.get.bind(topics);
    topics.get = (name) => get(name === 'nowhere' ? 't' : name);
  },
  'a heartbeat of an old generation is accepted': ({ coordinator: { group } }) => {
    const { heartbeat } = group;
    group.heartbeat = (request) => {
      const code = heartbeat.call(group, request);
      return code === 22 ? 0 : code;
    };
  },
  'a commit is answered and not kept': ({ coordinator: { group } }) => {
    const { commit } = group;
    group.commit = (request) => commit.call(group, { ...request, offsets: request.offsets.slice(1) });
  },
  'a member that has left stays one': ({ coordinator: { group } }) => {
    group.leave = ({ memberIds }) => memberIds.map((memberId) => ({ memberId, code: 0 }));
  },
};

describe('the model beside itself', () => {
  it('differs nowhere', async () => {
    expect(await differencesWith()).toEqual([]);
  });

  it.each(Object.keys(LIES))('is seen to lie where %s', async (lie) => {
    expect(await differencesWith(LIES[lie])).not.toEqual([]);
  });
});
