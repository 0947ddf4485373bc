import type kafkajs from 'kafkajs';
import type { KafkaCluster } from '../../../stack/kafka-cluster.ts';
import type { Cluster } from '../../kafka/cluster.ts';
import { brokenPromises, factsOf } from './judge.ts';
import { modelSite } from './model-site.ts';
import { BROKERS, drawPlan, PARTITIONS, type Plan } from './plan.ts';
import { play } from './play.ts';
import { realSite } from './real-site.ts';

/** Some situations come together in one of fifty. */
const MODEL_RUNS = 100;

export type DeathsResult = {
  readonly plan: Plan;
  readonly attempts: number;
  readonly facts: ReadonlySet<string>;
  /** Promises of Kafka that the real brokers broke. */
  readonly broken: readonly string[];
};

/** Plays a plan on three real brokers. */
export async function runDeaths(
  seed: number,
  { cluster, admin }: { readonly cluster: KafkaCluster; readonly admin: kafkajs.Admin },
): Promise<DeathsResult> {
  const plan = drawPlan(seed);
  const topic = `deaths-${seed}`;
  // As the model places them.
  const replicaAssignment = Array.from({ length: PARTITIONS }, (_, partition) => ({
    partition,
    replicas: Array.from({ length: BROKERS }, (_, n) => ((partition + n) % BROKERS) + 1),
  }));
  const configEntries = [
    { name: 'min.insync.replicas', value: '2' },
    { name: 'retention.ms', value: '-1' },
  ];
  await admin.createTopics({ topics: [{ topic, replicaAssignment, configEntries }], waitForLeaders: false });
  const run = await play(realSite(cluster), topic, plan);
  const { length: attempts } = run.attempts;
  return { plan, attempts, facts: factsOf(run), broken: brokenPromises(run) };
}

type ModelOptions = {
  /** How often the model plays each plan, with other latencies each time. */
  readonly runs?: number;
  /** Makes the model another one, to see that this is found. */
  readonly sabotage?: (cluster: Cluster) => void;
};

/** All that the model answers in these plans. @throws Error where it breaks a promise of Kafka's */
export async function modelFacts(
  plans: readonly Plan[],
  { runs = MODEL_RUNS, sabotage }: ModelOptions = {},
): Promise<Set<string>> {
  const facts = new Set<string>();
  for (const plan of plans)
    for (let chance = 0; chance < runs; chance++) {
      const topic = `deaths-${plan.seed}`;
      const site = modelSite(plan.seed * runs + chance, topic);
      sabotage?.(site.cluster);
      const run = await play(site, topic, plan);
      const [broken] = brokenPromises(run);
      if (broken) throw new Error(`the model, plan ${plan.seed}, chance ${chance}: ${broken}`);
      for (const fact of factsOf(run)) facts.add(fact);
    }
  return facts;
}
