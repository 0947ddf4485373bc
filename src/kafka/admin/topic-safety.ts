import type kafkajs from 'kafkajs';
import { askForEach, describeConfigs } from './describe-topics.ts';

/** What the brokers report about the durability of a topic; undefined: not reported. */
export type SafetyReading = {
  /** The number of the partition that has the fewest. */
  readonly replicas: number | undefined;
  readonly minInsync: number | undefined;
  /** Whether a replica that is not in sync can become the leader. */
  readonly unclean: boolean | undefined;
  /** Whether the brokers delete records behind which others have the same key. */
  readonly compacts: boolean | undefined;
  /** Whether they delete records by their age, or by the size of the topic. */
  readonly expires: boolean | undefined;
  /** Why something is undefined. */
  readonly unknown: string | undefined;
};

export type SafetyAssessment = {
  /** Why the topic can lose confirmed records; empty if nothing that is known says so. */
  readonly faults: readonly string[];
  readonly remedies: readonly string[];
  readonly warnings: readonly string[];
  /** Whether all values are known. */
  readonly isCertain: boolean;
};

const MIN_INSYNC = 'min.insync.replicas';
const UNCLEAN = 'unclean.leader.election.enable';
const CLEANUP = 'cleanup.policy';
const RETENTION = ['retention.ms', 'retention.bytes'];

/** @throws the client's error if no broker answers */
export async function readSafety(
  admin: kafkajs.Admin,
  topics: readonly string[],
): Promise<Map<string, SafetyReading>> {
  if (topics.length === 0) return new Map();
  const configs = await askForEach(topics, (names) =>
    describeConfigs(admin, names, [MIN_INSYNC, UNCLEAN, CLEANUP, ...RETENTION]),
  );
  const replicas = await askForEach(topics, (names) => fewestReplicas(admin, names));
  return new Map(topics.map((topic) => [topic, toReading(configs.get(topic), replicas.get(topic))]));
}

function toReading(
  config: Map<string, string> | Error | undefined,
  replicas: number | Error | undefined,
): SafetyReading {
  const values = config instanceof Map ? config : new Map<string, string>();
  const minInsync = Number(values.get(MIN_INSYNC));
  const unclean = values.get(UNCLEAN);
  const policy = values.get(CLEANUP);
  const failed = [config, replicas].filter((one) => one instanceof Error);
  const silent = [MIN_INSYNC, UNCLEAN].filter((name) => !values.has(name));
  const unknown =
    failed.map(({ message }) => message)[0] ??
    (silent.length > 0 ? `the brokers do not report ${silent.join(', ')}` : undefined);
  return {
    replicas: typeof replicas === 'number' ? replicas : undefined,
    minInsync: minInsync > 0 ? minInsync : undefined,
    unclean: unclean === undefined ? undefined : unclean === 'true',
    compacts: policy?.includes('compact'),
    expires: policy?.includes('delete') && RETENTION.some((name) => values.get(name) !== '-1'),
    unknown,
  };
}

/**
 * @param required MIN_INSYNC_REPLICAS
 * @param isState only the latest record of a key counts in this topic, and has to stay
 */
export function assessSafety(
  reading: SafetyReading,
  required: number,
  { isState = false } = {},
): SafetyAssessment {
  const { replicas, minInsync, unclean, compacts, expires, unknown } = reading;
  const faults: string[] = [];
  const remedies: string[] = [];
  const warnings: string[] = [];
  const fault = (text: string, remedy: string) => {
    faults.push(text);
    remedies.push(remedy);
  };
  const needed = Math.max(required, minInsync ?? 0);
  if (replicas !== undefined && replicas < needed) {
    const reason = replicas >= required ? ` (its ${MIN_INSYNC})` : '';
    fault(
      `its replication factor is ${replicas}, must be at least ${needed}${reason}`,
      `give its partitions ${needed} or more replicas with kafka-reassign-partitions${otherwise(replicas, required)}`,
    );
  }
  // With too few replicas, these come first: a higher minimum alone would not help.
  if (minInsync !== undefined && minInsync < required && (replicas === undefined || replicas >= required)) {
    const byTool = replicas === undefined || replicas >= 3;
    fault(
      `${MIN_INSYNC} is ${minInsync}, must be at least ${required}`,
      byTool ? 'run hookline topics apply' : `set ${MIN_INSYNC} to ${required} with kafka-configs`,
    );
  }
  if (compacts === false && isState)
    fault(
      `${CLEANUP} is delete, must be compact: keys of subscriptions are gone when the retention is over`,
      'run hookline topics apply --allow-data-loss --topic TOPIC, which sets it to compact',
    );
  if (compacts && expires && isState)
    fault(
      `${CLEANUP} has delete too, must be compact: keys of subscriptions are gone when the retention is over`,
      'run hookline topics apply, which sets it to compact, and before a restart write the subscriptions again (HooklineTopicsUnsafe in the runbook)',
    );
  if (compacts && !isState)
    fault(
      `${CLEANUP} has compact, must be delete: of records with the same key only the latest stays`,
      'run hookline topics apply --allow-data-loss --topic TOPIC, which sets it to delete',
    );
  if (unclean) fault(`${UNCLEAN} is true, must be false`, 'run hookline topics apply');
  if (minInsync !== undefined && minInsync > 1 && replicas === minInsync) {
    warnings.push(`its replication factor equals ${MIN_INSYNC} (${replicas}): one broker down stops writes`);
  }
  if (unknown !== undefined) warnings.push(`whether it can lose records is not known: ${unknown}`);
  return { faults, remedies: [...new Set(remedies)], warnings, isCertain: unknown === undefined };
}

/** What else ends it, where there may be no brokers for more replicas. */
function otherwise(replicas: number, required: number): string {
  if (replicas >= required) return `, or set ${MIN_INSYNC} to ${required} with kafka-configs`;
  return replicas === 1 ? ', or set MIN_INSYNC_REPLICAS to 1 if one broker is to hold everything' : '';
}

async function fewestReplicas(admin: kafkajs.Admin, topics: readonly string[]): Promise<Map<string, number>> {
  const metadata = await admin.fetchTopicMetadata({ topics: [...topics] });
  return new Map(
    metadata.topics.map(({ name, partitions }) => [
      name,
      Math.min(...partitions.map(({ replicas }) => replicas.length)),
    ]),
  );
}
