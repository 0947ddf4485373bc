import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { describeConfigs, missingTopics } from './describe-topics.ts';
import { type Leaderless, leaderlessIn } from './leaderless.ts';
import { allowedRecordBytes, answerIn, isRefusal } from './record-limit.ts';
import { assessSafety } from './topic-safety.ts';
import { type ChangeOptions, changesTo, type TopicChanges, type TopicSpec } from './topic-specs.ts';

/** Longest wait for the leaders of new topics. */
const LEADERS_MS = 30_000;

const RECORD_LIMIT = 'max.message.bytes';
const CLEANUP = 'cleanup.policy';

/** The differences between a topic and its specification. */
export type TopicPlan = TopicChanges & {
  readonly spec: TopicSpec;
  readonly action: 'create' | 'change' | 'none';
  /** A setting is not as specified, and `apply` leaves it so. */
  readonly differs: boolean;
  /** Of a topic that exists; undefined where the brokers do not tell. */
  readonly partitions?: number | undefined;
  readonly replicas?: number | undefined;
  /** null where all partitions have a leader */
  readonly leaderless: Leaderless | null;
};

export async function countBrokers(admin: kafkajs.Admin): Promise<number> {
  return (await admin.describeCluster()).brokers.length;
}

/**
 * Compares the cluster with the specifications. If the cluster does not allow records as large as specified, the plans
 * have its limit, and a note.
 */
export async function planTopics(
  admin: kafkajs.Admin,
  specs: readonly TopicSpec[],
  options: ChangeOptions,
): Promise<TopicPlan[]> {
  const plans = await compareTopics(admin, specs, options);
  const first = plans.find(({ action, changes, spec }) =>
    action === 'create'
      ? RECORD_LIMIT in spec.config
      : changes.some(({ setting }) => setting === RECORD_LIMIT),
  );
  if (!first) return plans;
  const wanted = Number(first.spec.config[RECORD_LIMIT]);
  const { bytes, why } = await allowedRecordBytes(admin, wanted, (bytes) =>
    execute(admin, withRecordLimit(first, bytes), { validateOnly: true }),
  );
  if (why === undefined) return plans;
  const lowered = await compareTopics(
    admin,
    specs.map((spec) => withRecordLimit({ spec }, bytes).spec),
    options,
  );
  const note = `${RECORD_LIMIT} is ${bytes ?? "the cluster's default"} instead of ${wanted}: ${why}`;
  return lowered.map((plan, n) =>
    specs[n] && RECORD_LIMIT in specs[n].config ? { ...plan, kept: [...plan.kept, note] } : plan,
  );
}

/** The plan with another record limit, if its specification has one. */
function withRecordLimit<T extends Pick<TopicPlan, 'spec'> & Partial<Pick<TopicPlan, 'changes'>>>(
  plan: T,
  bytes: number | undefined,
): T {
  const { [RECORD_LIMIT]: limit, ...rest } = plan.spec.config;
  if (limit === undefined) return plan;
  const config = bytes === undefined ? rest : { ...rest, [RECORD_LIMIT]: String(bytes) };
  const changes = plan.changes?.flatMap((change) => {
    if (change.setting !== RECORD_LIMIT) return [change];
    return bytes === undefined ? [] : [{ ...change, wanted: String(bytes) }];
  });
  return { ...plan, spec: { ...plan.spec, config }, ...(changes && { changes }) };
}

async function compareTopics(
  admin: kafkajs.Admin,
  specs: readonly TopicSpec[],
  options: ChangeOptions,
): Promise<TopicPlan[]> {
  const missing = new Set(
    await missingTopics(
      admin,
      specs.map((spec) => spec.name),
    ),
  );
  const existing = specs.filter((spec) => !missing.has(spec.name)).map((spec) => spec.name);
  const configs = existing.length > 0 ? await describeConfigs(admin, existing) : new Map();
  // Of all topics: asked for these, the client would fail where one of their partitions has no leader, and name none.
  const metadata = existing.length > 0 ? (await admin.fetchTopicMetadata()).topics : [];
  const cleanedOtherwise = specs.filter(
    ({ name, config }) =>
      !missing.has(name) && CLEANUP in config && configs.get(name)?.get(CLEANUP) !== config[CLEANUP],
  );
  const empty = await emptyOnes(
    admin,
    cleanedOtherwise.map(({ name }) => name),
  );
  return specs.map((spec) => {
    if (missing.has(spec.name))
      return {
        spec,
        action: 'create' as const,
        differs: false,
        isRefused: false,
        changes: [],
        notes: [],
        kept: [],
        leaderless: null,
      };
    const partitions = metadata.find((topic) => topic.name === spec.name)?.partitions ?? [];
    const replicas = Math.min(...partitions.map((partition) => partition.replicas.length));
    const config: ReadonlyMap<string, string> = configs.get(spec.name) ?? new Map();
    const topic = { replicas, config, isEmpty: empty.has(spec.name) };
    const { changes, notes, isRefused, kept } = changesTo(spec, topic, options);
    const unsafe = unsafeNotes(config, changes, replicas, options);
    const leaderless = leaderlessIn(partitions);
    const stopped = leaderless === null ? [] : [`${leaderless.finding}: ${leaderless.remedy}`];
    return {
      spec,
      changes,
      isRefused,
      kept,
      leaderless,
      ...(partitions.length > 0 && { partitions: partitions.length, replicas }),
      action: changes.length > 0 ? 'change' : 'none',
      differs: notes.length + unsafe.length > 0,
      notes: [...stopped, ...notesOn(spec, partitions.length, replicas), ...unsafe, ...notes],
    };
  });
}

/** Those of these topics that have no records. One that the brokers do not tell of may have some. */
async function emptyOnes(admin: kafkajs.Admin, names: readonly string[]): Promise<ReadonlySet<string>> {
  const empty = new Set<string>();
  for (const name of names) {
    const offsets = await admin.fetchTopicOffsets(name).catch(() => []);
    if (offsets.length > 0 && offsets.every(({ low, high }) => low === high)) empty.add(name);
  }
  return empty;
}

function notesOn(spec: TopicSpec, partitions: number, replicas: number): string[] {
  const notes: string[] = [];
  // A topic that was just created may have none yet.
  if (partitions > 0 && partitions !== spec.partitions) {
    notes.push(
      `has ${partitions} partitions, not ${spec.partitions}: changing it would move keys, so it stays`,
    );
  }
  if (replicas < spec.replicationFactor) {
    notes.push(
      `has ${replicas} replicas, not ${spec.replicationFactor}: reassign its partitions with Kafka's tools`,
    );
  }
  return notes;
}

/** Why processes do not start on the topic, also after its changes: what `doctor` says of its replicas. */
function unsafeNotes(
  config: ReadonlyMap<string, string>,
  changes: TopicChanges['changes'],
  replicas: number,
  { minInsyncReplicas }: ChangeOptions,
): string[] {
  const changed = changes.find(({ setting }) => setting === 'min.insync.replicas')?.wanted;
  const minInsync = Number(changed ?? config.get('min.insync.replicas')) || undefined;
  const others = { unclean: undefined, compacts: undefined, expires: undefined, unknown: undefined };
  const { faults, remedies } = assessSafety({ replicas, minInsync, ...others }, minInsyncReplicas);
  return faults.map((fault, n) => `${fault}: ${remedies[n]}`);
}

/** Creates missing topics and changes settings that differ. May be repeated. */
export async function applyTopics(admin: kafkajs.Admin, plans: readonly TopicPlan[]): Promise<void> {
  for (const plan of plans)
    await execute(admin, plan, { validateOnly: false }).catch((error) => {
      throw explained(answerIn(error), plan);
    });
  const created = plans.filter(({ action }) => action === 'create').map(({ spec }) => spec.name);
  if (created.length > 0) await waitForLeaders(admin, created);
}

/** The client tells neither the topic nor what was asked. */
function explained(answer: unknown, { spec, action, changes }: TopicPlan): unknown {
  if (!isRefusal(answer)) return answer;
  const wanted = changes.map(({ setting, wanted }) => `${setting}=${wanted}`);
  const all = toEntries(spec.config).map(({ name, value }) => `${name}=${value}`);
  const { name, partitions, replicationFactor } = spec;
  const asked =
    action === 'create' ? [`${partitions} partitions`, `${replicationFactor} replicas`, ...all] : wanted;
  return new Error(
    `the cluster refuses ${name} with ${asked.join(', ')}: give it what the cluster allows with the tools of the cluster, and leave it out of apply (--topic names the others; chart: setup.topics.enabled=false)`,
    { cause: answer },
  );
}

/** @param validateOnly the cluster only checks whether it would do it */
async function execute(
  admin: kafkajs.Admin,
  plan: TopicPlan,
  { validateOnly }: { validateOnly: boolean },
): Promise<void> {
  if (plan.action === 'none') return;
  if (plan.action === 'change') return changeSettings(admin, plan, validateOnly);
  const { name: topic, partitions: numPartitions, replicationFactor, config } = plan.spec;
  const one = { topic, numPartitions, replicationFactor, configEntries: toEntries(config) };
  await admin.createTopics({ topics: [one], validateOnly, waitForLeaders: false, timeout: LEADERS_MS });
}

/** Replaces kafkajs' own wait, which fails if a broker does not know the new topic yet. */
async function waitForLeaders(admin: kafkajs.Admin, topics: string[]): Promise<void> {
  const signal = AbortSignal.timeout(LEADERS_MS);
  for (;;) {
    const answer = await admin.fetchTopicMetadata({ topics }).catch(() => null);
    const partitions = answer?.topics.flatMap((topic) => topic.partitions) ?? [];
    if (answer && partitions.every(({ leader }) => leader >= 0)) return;
    await sleep(100, undefined, { signal });
  }
}

/** Kafka replaces all settings of a topic at once: unchanged ones are sent too. */
async function changeSettings(
  admin: kafkajs.Admin,
  { spec, changes }: TopicPlan,
  validateOnly: boolean,
): Promise<void> {
  const only = (entry: kafkajs.ConfigEntries) => entry.configSource === kafkajs.ConfigSource.TOPIC_CONFIG;
  const own = await describeConfigs(admin, [spec.name], undefined, { only });
  const wanted = Object.fromEntries(changes.map(({ setting, wanted }) => [setting, wanted]));
  const configEntries = toEntries({ ...Object.fromEntries(own.get(spec.name) ?? []), ...wanted });
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: spec.name, configEntries }];
  await admin.alterConfigs({ validateOnly, resources });
}

const toEntries = (config: Readonly<Record<string, string>>) =>
  Object.entries(config).map(([name, value]) => ({ name, value }));
