import { createRandom } from '../../../faults/random.ts';
import type { Cluster, ClusterOptions } from '../../kafka/cluster.ts';
import { fetchOffsets, findCoordinator } from '../wire/kafkajs-requests.ts';
import { modelTarget } from '../wire/model-target.ts';
import { listOffsets, metadata } from '../wire/platformatic-requests.ts';
import type { Target } from '../wire/target.ts';
import { DataSteps, MAX_MESSAGE_BYTES, PARTITIONS } from './data-steps.ts';
import type { Difference } from './difference.ts';
import { GroupSteps, MEMBERS } from './group-steps.ts';
import { Lockstep, Side } from './lockstep.ts';

const STEPS = 40;

export type SeedResult = {
  readonly seed: number;
  /** Answers that were compared. */
  readonly compared: number;
  readonly differences: readonly Difference[];
  readonly story: readonly string[];
};

export type SeedInput = {
  readonly broker: Target;
  readonly topic: string;
  /** Whether the model is wrong there. */
  readonly isFault: (difference: Difference) => boolean;
  /** Makes the model another one, to see that this is found. */
  readonly sabotage?: (cluster: Cluster) => void;
};

/** What the topic is in the model. */
export const oneBroker = (topic: string): ClusterOptions => ({
  brokers: 1,
  minIsr: 1,
  hasGroup: true,
  topics: [{ name: topic, partitions: PARTITIONS, maxBytes: MAX_MESSAGE_BYTES }],
});

/** Plays one schedule on a broker, where its topic is there and empty, and on the model, until they differ. */
export async function runSeed(
  seed: number,
  { broker, topic, isFault, sabotage }: SeedInput,
): Promise<SeedResult> {
  const random = createRandom(seed, 'agreement');
  const { target, cluster } = modelTarget(seed, oneBroker(topic));
  sabotage?.(cluster);
  const both = new Lockstep(new Side(broker, MEMBERS), new Side(target, MEMBERS), cluster);
  const data = new DataSteps(both, topic, random);
  const group = new GroupSteps(both, { group: `${topic}.group`, topic, random });
  const areSame = () => !both.differences.some(isFault);
  try {
    for (const side of both.sides) {
      await isLed(side, topic);
      side.topicId = await topicIdOf(side, topic);
      await coordinates(side, topic);
    }
    for (let step = 0; step < STEPS && areSame(); step++) await (random.chance(0.5) ? data : group).step();
    if (areSame()) await data.compareAll();
    if (areSame()) await group.compareOffsets();
    if (areSame()) await group.end();
  } finally {
    for (const side of both.sides) side.close();
  }
  return { seed, compared: both.compared, differences: both.differences, story: both.story };
}

const READY_MS = 20_000;

/** A broker leads the partitions of a new topic a while after the topic is there. */
async function isLed(side: Side, topic: string): Promise<void> {
  const { target } = side;
  const end = target.now() + READY_MS;
  for (let partition = 0; partition < PARTITIONS; partition++) {
    while (!(await leads(side, topic, partition))) {
      if (target.now() > end) throw new Error(`${target.name} does not lead ${topic}[${partition}]`);
      await target.pass(10);
    }
  }
}

async function leads(side: Side, topic: string, partition: number): Promise<boolean> {
  const listed = (await side.ask(listOffsets(topic, partition, -1n))) as Listed;
  return listed.topics[0]?.partitions[0]?.errorCode === 0;
}

type Listed = { readonly topics: readonly { readonly partitions: readonly Answer[] }[] };

/** A broker begins to coordinate groups when it is asked for the first time. */
async function coordinates(side: Side, topic: string): Promise<void> {
  const { target } = side;
  const end = target.now() + READY_MS;
  const group = `${topic}.group`;
  for (;;) {
    const found = (await side.ask(findCoordinator(group))) as Answer;
    const offsets = (await side.ask(fetchOffsets(group, topic, [0]))) as Answer;
    if (found.errorCode === 0 && offsets.errorCode === 0) return;
    if (target.now() > end) throw new Error(`${target.name} does not coordinate groups`);
    await target.pass(20);
  }
}

type Answer = { readonly errorCode: number };

async function topicIdOf(side: Side, topic: string): Promise<string> {
  const answer = (await side.ask(metadata([topic]))) as { topics: { topicId: string }[] };
  const id = answer.topics[0]?.topicId ?? '';
  side.call(id, 'topic');
  return id;
}
