import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../kafka/cluster.ts';
import { CODES, type Partition } from '../../kafka/partition.ts';
import { brokenPromises } from './judge.ts';
import { drawPlan } from './plan.ts';
import { emptyRun, type Run } from './run.ts';
import { modelFacts } from './run-deaths.ts';

/** Seeds in which one and two brokers are killed and frozen. */
const PLANS = [2, 3, 4].map(drawPlan);
const RUNS = 6;

/** Some of what three real brokers (Kafka 4.3.1) answered in these plans. */
const SEEN = [
  ...['kill 1: commit 14', 'kill 1: coordinator closed', 'kill 1: fetch closed'],
  ...[
    'kill 1: metadata 0, a leader, 2 in sync',
    'kill 1: produce 7, stored',
    'kill 1: produce closed, not stored',
  ],
  ...['kill 2: metadata 0, a leader, 1 in sync', 'kill 2: produce 19, not stored'],
];

const everywhere = (change: (partition: Partition) => void) => (cluster: Cluster) =>
  cluster.partitions.forEach(change);

const LIES: Readonly<Record<string, (cluster: Cluster) => void>> = {
  'a batch is acknowledged before the other replicas have it': everywhere((partition) => {
    const { append } = partition;
    partition.append = (broker, batch, how, answer) => {
      const waiter = append.call(partition, broker, batch, how, () => {});
      if (typeof waiter !== 'number') answer({ code: CODES.NONE, base: waiter.entry.base });
      return waiter;
    };
  }),
  'a replica that is not in sync leads': everywhere((partition) => {
    partition.elect = (isAlive) => {
      const next = partition.replicas.findLast(isAlive) ?? -1;
      if (next === partition.leader) return;
      partition.leader = next;
      partition.epoch++;
    };
    partition.catchUp = (follower) => {
      partition.isr.add(follower);
      return false;
    };
  }),
  'a batch is taken with one replica in sync': everywhere((partition) => {
    const { append } = partition;
    partition.append = (broker, batch, how, answer) => {
      const taken = append.call(partition, broker, batch, how, answer);
      return taken === CODES.NOT_ENOUGH_REPLICAS
        ? append.call(partition, broker, batch, { ...how, acks: 1 }, answer)
        : taken;
    };
  }),
  'a broker that is dead stays in sync': everywhere((partition) => {
    partition.fence = (broker, isAlive) => {
      if (partition.leader === broker) partition.elect(isAlive);
    };
  }),
};

describe('brokers that are killed and frozen', () => {
  it('answer in the model what they were seen to answer, among other things', async () => {
    const facts = await modelFacts(PLANS, { runs: RUNS });
    expect(SEEN.filter((fact) => !facts.has(fact))).toEqual([]);
  });

  it.each(Object.keys(LIES))('are seen to lie where %s', async (lie) => {
    const facts = modelFacts(PLANS, { runs: RUNS, ...(LIES[lie] && { sabotage: LIES[lie] }) });
    const found = await facts.then(
      (all) => SEEN.filter((fact) => !all.has(fact)),
      (error: Error) => [error.message],
    );
    expect(found).not.toEqual([]);
  });
});

describe('promises of Kafka', () => {
  const attempt = (id: string, outcome: string, base?: number) => {
    const [partition = 0, batch = 0] = id.split('/').map(Number);
    return { id, partition, batch, outcome, base, situation: 'whole' };
  };
  const stored = (...ids: string[]) => [ids.map((id, offset) => ({ id, offset, epoch: 0 }))];
  const brokenBy = (run: Partial<Run>) => brokenPromises({ ...emptyRun(), ...run });

  it('are kept where a batch whose answer was lost is stored again', () => {
    const attempts = [attempt('0/0/1', 'silent'), attempt('0/0/2', '0', 1), attempt('0/1/1', '0', 2)];
    expect(brokenBy({ attempts, stored: stored('0/0/1', '0/0/2', '0/1/1') })).toEqual([]);
  });

  it.each([
    ['was acknowledged at 0, and is not there', stored()],
    ['is stored twice', stored('0/0/1', '0/0/1', '0/1/1')],
    ['was not sent', stored('0/0/1', '0/1/1', '0/9/1')],
    ['batch 0 is stored after 1', stored('0/1/1', '0/0/1')],
  ])('are broken where something %s', (what, all) => {
    const attempts = [attempt('0/0/1', '0', 0), attempt('0/1/1', '0', 1)];
    expect(brokenBy({ attempts, stored: all }).join('\n')).toContain(what);
  });

  it('are broken where a commit that was acknowledged is gone', () => {
    const commits = [
      { offset: 1, isAcknowledged: true },
      { offset: 2, isAcknowledged: false },
    ];
    expect([2, 1, -1].map((committed) => brokenBy({ commits, committed }).length)).toEqual([0, 0, 1]);
  });
});
