import { OWN_TOPICS, topicName } from '../../core/names.ts';

/** A topic as it should be. */
export type TopicSpec = {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly config: Readonly<Record<string, string>>;
};

export type TopicPlanOptions = {
  readonly prefix: string;
  /** Of the event schemas, without the prefix. */
  readonly eventTopics: readonly string[];
  /** Full names, including the default one. */
  readonly commandTopics: readonly string[];
  readonly partitions: number;
  readonly replicationFactor: number;
  /** MAX_RECORD_BYTES */
  readonly maxRecordBytes: number;
  /** MIN_INSYNC_REPLICAS */
  readonly minInsyncReplicas: number;
};

/** With this many replicas one broker can be down while two confirm. */
const MIN_REPLICAS_FOR_TWO_IN_SYNC = 3;

const DAY_MS = 86_400_000;

/** A retention of an event topic that is shorter is reported. */
const SHORT_MS = DAY_MS;

/** Every topic that Hookline needs. */
export function topicSpecs(options: TopicPlanOptions): TopicSpec[] {
  const { partitions, replicationFactor } = options;
  const named = (topic: string) => topicName(options.prefix, topic);
  const insync = minInsyncFor(replicationFactor, options.minInsyncReplicas);
  const safety = {
    ...(insync !== undefined && { 'min.insync.replicas': insync }),
    // A replica that is not in sync lacks acknowledged records.
    'unclean.leader.election.enable': 'false',
    // Retention and compaction count from the time of a record: by the writer's clock, acknowledged ones could be deleted at once.
    'message.timestamp.type': 'LogAppendTime',
  };
  const spec = (name: string, config: Record<string, string>): TopicSpec => ({
    name,
    partitions,
    replicationFactor,
    config: { ...safety, ...config },
  });
  const bodies = { 'cleanup.policy': 'delete', 'max.message.bytes': String(options.maxRecordBytes) };
  return [
    ...options.eventTopics.map((topic) => spec(named(topic), bodies)),
    spec(named(OWN_TOPICS.deadLetter), { ...bodies, ...keptFor(30) }),
    // The broker decompresses what teams send: max.message.bytes then bounds what control reads of a batch, whatever the codec.
    ...options.commandTopics.map((topic) =>
      spec(topic, { 'cleanup.policy': 'delete', ...keptFor(7), 'compression.type': 'uncompressed' }),
    ),
    spec(named(OWN_TOPICS.results), { 'cleanup.policy': 'delete', ...keptFor(30) }),
    // Compaction keeps older values for a day, in case a later record is ignored: see subscriptions/state-fence.ts.
    spec(named(OWN_TOPICS.subscriptions), {
      'cleanup.policy': 'compact',
      'min.compaction.lag.ms': String(DAY_MS),
    }),
    spec(named(OWN_TOPICS.audit), { 'cleanup.policy': 'delete', ...keptFor(400) }),
    spec(named(OWN_TOPICS.probe), { 'cleanup.policy': 'delete', ...keptFor(1) }),
  ];
}

/** The wanted min.insync.replicas of a topic with so many replicas; undefined: the cluster's default. */
const minInsyncFor = (replicas: number, required: number): string | undefined =>
  replicas >= MIN_REPLICAS_FOR_TWO_IN_SYNC ? String(Math.min(Math.max(2, required), replicas)) : undefined;

const keptFor = (days: number) => ({ 'retention.ms': String(days * DAY_MS) });

/** A setting that `apply` changes, with its present and its wanted value. */
type TopicChange = { readonly setting: string; readonly is: string; readonly wanted: string };

export type TopicChanges = {
  readonly changes: readonly TopicChange[];
  /** Differences that `apply` does not change: somebody should check them. */
  readonly notes: readonly string[];
  /** Whether one of them is a setting that is not as it has to be, and stays so without `allowDataLoss`. */
  readonly isRefused: boolean;
  /** Values that are higher than wanted, and stay. */
  readonly kept: readonly string[];
};

export type ChangeOptions = {
  /** Whether a change may delete records. */
  readonly allowDataLoss: boolean;
  /** MIN_INSYNC_REPLICAS */
  readonly minInsyncReplicas: number;
};

/** A topic that exists. */
export type ExistingTopic = {
  readonly replicas: number;
  /** Its effective settings, as far as the brokers report them. */
  readonly config: ReadonlyMap<string, string>;
  /** It is certain that it has no records. */
  readonly isEmpty: boolean;
};

/** Compares the effective settings with the specification. A change that deletes records needs `allowDataLoss`. */
export function changesTo(
  spec: TopicSpec,
  { replicas, config, isEmpty }: ExistingTopic,
  options: ChangeOptions,
): TopicChanges {
  const changes: TopicChange[] = [];
  const notes: string[] = [];
  const kept: string[] = [];
  let isRefused = false;
  for (const [setting, wanted] of Object.entries(settingsFor(spec, replicas, options))) {
    const is = config.get(setting) ?? '';
    if (is === wanted) continue;
    const isMore = isMoreThan(setting, is, wanted);
    if (setting === 'min.insync.replicas' && isMore) kept.push(`${setting} stays ${is}`);
    else if (options.allowDataLoss || !losesRecords(setting, is, wanted, isEmpty))
      changes.push({ setting, is, wanted });
    else {
      const text = `${setting} stays ${describeValue(setting, is)}, as ${wanted} would delete records: --allow-data-loss changes it`;
      (isMore ? kept : notes).push(text);
      isRefused ||= !isMore && is !== '';
    }
  }
  const after = new Map([...config, ...changes.map(({ setting, wanted }) => [setting, wanted] as const)]);
  return { changes, notes: [...notes, ...expiryNotes(spec, after)], isRefused, kept };
}

/** Records that are gone sooner than anybody expects. */
function expiryNotes(spec: TopicSpec, config: ReadonlyMap<string, string>): string[] {
  const [ms, bytes] = ['retention.ms', 'retention.bytes'].map((name) => Number(config.get(name) ?? -1));
  // Where the brokers do not report it, records are taken to expire.
  const isExpiring = (config.get('cleanup.policy') ?? 'delete').includes('delete');
  if (!isExpiring || ms === undefined || bytes === undefined) return [];
  const isKept = spec.config['cleanup.policy'] === 'compact';
  // Event topics have the cluster's default, or what their owner gave them.
  const isShort = !('retention.ms' in spec.config) && ms >= 0 && ms < SHORT_MS;
  return [
    ...(bytes >= 0
      ? [`retention.bytes is ${bytes}: records can be deleted before retention.ms is over`]
      : []),
    ...(isShort && !isKept
      ? [`retention.ms is ${ms}: consumers that stand still for a day lose records`]
      : []),
    ...(isKept && ms >= 0 ? [`retention.ms is ${ms}: the state is deleted when it is over`] : []),
  ];
}

/** min.insync.replicas depends on the topic's present replicas, not on those of a new topic. */
function settingsFor(spec: TopicSpec, replicas: number, options: ChangeOptions): Record<string, string> {
  const { 'min.insync.replicas': _, ...config } = spec.config;
  const insync = minInsyncFor(replicas, options.minInsyncReplicas);
  return { ...(insync !== undefined && { 'min.insync.replicas': insync }), ...config };
}

function isMoreThan(setting: string, is: string, wanted: string): boolean {
  if (is === '' || !/^(retention|min\.insync)/.test(setting)) return false;
  // -1: unlimited.
  return Number(is) === -1 || (Number(wanted) !== -1 && Number(is) > Number(wanted));
}

/** Also on a topic without records a longer retention stays: somebody may have chosen it for those to come. */
function losesRecords(setting: string, is: string, wanted: string, isEmpty: boolean): boolean {
  if (setting.startsWith('retention.')) return is === '' || isMoreThan(setting, is, wanted);
  if (setting !== 'cleanup.policy' || isEmpty) return false;
  const before = new Set(is.split(','));
  return wanted.split(',').some((policy) => !before.has(policy));
}

function describeValue(setting: string, value: string): string {
  if (value === '') return 'as it is (not reported)';
  return setting.startsWith('retention.') && value === '-1' ? 'unlimited' : value;
}
