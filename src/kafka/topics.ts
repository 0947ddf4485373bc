import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import type { TopicSpec } from './topic-specs.ts';

/** Until new topics have leaders. */
const LEADERS_MS = 30_000;

/** What stands between a topic and its specification. */
export type TopicPlan = {
  readonly spec: TopicSpec;
  readonly action: 'create' | 'change' | 'none';
  /** Settings that `apply` changes: what is, what should be. */
  readonly changes: readonly { readonly setting: string; readonly is: string; readonly wanted: string }[];
  /** What `apply` leaves as it is, in words. */
  readonly notes: readonly string[];
};

/** What the cluster's answer to a plan rests on. */
export async function countBrokers(admin: kafkajs.Admin): Promise<number> {
  return (await admin.describeCluster()).brokers.length;
}

/** The names among these that don't exist. */
export async function missingTopics(admin: kafkajs.Admin, names: readonly string[]): Promise<string[]> {
  const existing = new Set(await admin.listTopics());
  return names.filter((name) => !existing.has(name));
}

/** Compares the cluster with the specifications. */
export async function planTopics(admin: kafkajs.Admin, specs: readonly TopicSpec[]): Promise<TopicPlan[]> {
  const missing = new Set(
    await missingTopics(
      admin,
      specs.map((spec) => spec.name),
    ),
  );
  const existing = specs.filter((spec) => !missing.has(spec.name)).map((spec) => spec.name);
  const configs = existing.length > 0 ? await describeConfigs(admin, existing) : new Map();
  const metadata = existing.length > 0 ? (await admin.fetchTopicMetadata({ topics: existing })).topics : [];
  return specs.map((spec) => {
    if (missing.has(spec.name)) return { spec, action: 'create' as const, changes: [], notes: [] };
    const config: Map<string, string> = configs.get(spec.name) ?? new Map();
    const changes = Object.entries(spec.config)
      .map(([setting, wanted]) => ({ setting, is: config.get(setting) ?? '', wanted }))
      .filter(({ is, wanted }) => is !== wanted);
    const partitions = metadata.find((topic) => topic.name === spec.name)?.partitions ?? [];
    return {
      spec,
      action: changes.length > 0 ? 'change' : 'none',
      changes,
      notes: notesOn(spec, partitions),
    };
  });
}

function notesOn(spec: TopicSpec, partitions: readonly kafkajs.PartitionMetadata[]): string[] {
  const notes: string[] = [];
  if (partitions.length !== spec.partitions) {
    notes.push(
      `has ${partitions.length} partitions, not ${spec.partitions}: changing it would move keys, so it stays`,
    );
  }
  const replicas = Math.min(...partitions.map((partition) => partition.replicas.length));
  if (replicas < spec.replicationFactor) {
    notes.push(
      `has ${replicas} replicas, not ${spec.replicationFactor}: reassign its partitions with Kafka's tools`,
    );
  }
  return notes;
}

/** Creates what is missing and changes the settings that differ. Doing it twice changes nothing. */
export async function applyTopics(admin: kafkajs.Admin, plans: readonly TopicPlan[]): Promise<void> {
  const toCreate = plans
    .filter((plan) => plan.action === 'create')
    .map(({ spec }) => ({
      topic: spec.name,
      numPartitions: spec.partitions,
      replicationFactor: spec.replicationFactor,
      configEntries: Object.entries(spec.config).map(([name, value]) => ({ name, value })),
    }));
  if (toCreate.length > 0) {
    await admin.createTopics({ topics: toCreate, waitForLeaders: false, timeout: LEADERS_MS });
    await waitForLeaders(
      admin,
      toCreate.map(({ topic }) => topic),
    );
  }
  for (const plan of plans.filter((one) => one.action === 'change')) await changeSettings(admin, plan);
}

/** The client's own waiting fails where a broker has not heard of the topic yet, which is what it should wait for. */
async function waitForLeaders(admin: kafkajs.Admin, topics: string[]): Promise<void> {
  const signal = AbortSignal.timeout(LEADERS_MS);
  for (;;) {
    const answer = await admin.fetchTopicMetadata({ topics }).catch(() => null);
    const partitions = answer?.topics.flatMap((topic) => topic.partitions) ?? [];
    if (answer && partitions.every(({ leader }) => leader >= 0)) return;
    await sleep(100, undefined, { signal });
  }
}

/** Kafka replaces all of a topic's own settings at once: those that we don't know are sent along unchanged. */
async function changeSettings(admin: kafkajs.Admin, { spec }: TopicPlan): Promise<void> {
  const own = await describeConfigs(admin, [spec.name], (entry) => entry.configSource === TOPIC_CONFIG);
  const entries = { ...Object.fromEntries(own.get(spec.name) ?? []), ...spec.config };
  const configEntries = Object.entries(entries).map(([name, value]) => ({ name, value }));
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: spec.name, configEntries }];
  await admin.alterConfigs({ validateOnly: false, resources });
}

const TOPIC_CONFIG = kafkajs.ConfigSource.TOPIC_CONFIG;

/** Settings of these topics as they are in force, by topic and name. */
export async function describeConfigs(
  admin: kafkajs.Admin,
  topics: readonly string[],
  only: (entry: kafkajs.ConfigEntries) => boolean = () => true,
): Promise<Map<string, Map<string, string>>> {
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const answer = await admin.describeConfigs({ includeSynonyms: false, resources });
  return new Map(
    answer.resources.map(({ resourceName, configEntries }) => {
      const entries = configEntries
        .filter(only)
        .map((entry) => [entry.configName, entry.configValue] as const);
      return [resourceName, new Map(entries)];
    }),
  );
}
