import type kafkajs from 'kafkajs';
import { describeConfigs } from './describe-topics.ts';

/** What the brokers say about the copies of a topic's records; undefined is what they do not say. */
export type SafetyReading = {
  /** Of the partition that has the fewest. */
  readonly replicas: number | undefined;
  readonly minInsync: number | undefined;
  /** Whether a replica that was not in sync may become the leader. */
  readonly unclean: boolean | undefined;
  /** Why something is undefined, in words. */
  readonly unknown: string | undefined;
};

export type SafetyJudgement = {
  /** Why the topic can lose records that its brokers have confirmed; empty where nothing known says so. */
  readonly faults: readonly string[];
  readonly remedies: readonly string[];
  readonly warnings: readonly string[];
  /** Whether everything is known that the judgement needs. */
  readonly isCertain: boolean;
};

const MIN_INSYNC = 'min.insync.replicas';
const UNCLEAN = 'unclean.leader.election.enable';

/** @throws what the client throws where the brokers cannot be asked at all */
export async function readSafety(
  admin: kafkajs.Admin,
  topics: readonly string[],
): Promise<Map<string, SafetyReading>> {
  if (topics.length === 0) return new Map();
  const configs = await askForEach(topics, (names) => describeConfigs(admin, names, [MIN_INSYNC, UNCLEAN]));
  const replicas = await askForEach(topics, (names) => leastReplicas(admin, names));
  return new Map(topics.map((topic) => [topic, toReading(configs.get(topic), replicas.get(topic))]));
}

function toReading(
  config: Map<string, string> | Error | undefined,
  replicas: number | Error | undefined,
): SafetyReading {
  const values = config instanceof Map ? config : new Map<string, string>();
  const minInsync = Number(values.get(MIN_INSYNC));
  const unclean = values.get(UNCLEAN);
  const failed = [config, replicas].filter((one) => one instanceof Error);
  const silent = [MIN_INSYNC, UNCLEAN].filter((name) => !values.has(name));
  const unknown =
    failed.map(({ message }) => message)[0] ??
    (silent.length > 0 ? `the brokers do not report ${silent.join(', ')}` : undefined);
  return {
    replicas: typeof replicas === 'number' ? replicas : undefined,
    minInsync: minInsync > 0 ? minInsync : undefined,
    unclean: unclean === undefined ? undefined : unclean === 'true',
    unknown,
  };
}

/** @param least MIN_INSYNC_REPLICAS */
export function judgeSafety(reading: SafetyReading, least: number): SafetyJudgement {
  const { replicas, minInsync, unclean, unknown } = reading;
  const faults: string[] = [];
  const remedies: string[] = [];
  const warnings: string[] = [];
  const fault = (text: string, remedy: string) => {
    faults.push(text);
    remedies.push(remedy);
  };
  if (replicas !== undefined && replicas < Math.max(least, minInsync ?? 0)) {
    const needed = Math.max(least, minInsync ?? 0);
    fault(
      `its replication factor is ${replicas}, must be at least ${needed}`,
      `give its partitions ${needed} or more replicas by kafka-reassign-partitions${
        replicas === 1 ? ', or set MIN_INSYNC_REPLICAS to 1 where one broker is meant to hold everything' : ''
      }`,
    );
  }
  // Where there are too few replicas, their number comes first: raising the minimum alone would help nobody.
  if (minInsync !== undefined && minInsync < least && (replicas === undefined || replicas >= least)) {
    const byTool = replicas === undefined || replicas >= 3;
    fault(
      `${MIN_INSYNC} is ${minInsync}, must be at least ${least}`,
      byTool ? 'run hookline topics apply' : `set ${MIN_INSYNC} to ${least} by kafka-configs`,
    );
  }
  if (unclean) fault(`${UNCLEAN} is true, must be false`, 'run hookline topics apply');
  if (minInsync !== undefined && minInsync > 1 && replicas === minInsync) {
    warnings.push(`its replication factor equals ${MIN_INSYNC} (${replicas}): one broker down stops writes`);
  }
  if (unknown !== undefined) warnings.push(`whether it can lose records is not known: ${unknown}`);
  return { faults, remedies: [...new Set(remedies)], warnings, isCertain: unknown === undefined };
}

async function leastReplicas(admin: kafkajs.Admin, topics: readonly string[]): Promise<Map<string, number>> {
  const metadata = await admin.fetchTopicMetadata({ topics: [...topics] });
  return new Map(
    metadata.topics.map(({ name, partitions }) => [
      name,
      Math.min(...partitions.map(({ replicas }) => replicas.length)),
    ]),
  );
}

/** One topic that the brokers refuse to tell of fails the answer about all of them: then each is asked for alone. */
async function askForEach<T>(
  topics: readonly string[],
  ask: (topics: readonly string[]) => Promise<Map<string, T>>,
): Promise<Map<string, T | Error>> {
  try {
    return await ask(topics);
  } catch (error) {
    if (!isOfTopic(error)) throw error;
  }
  const answers = new Map<string, T | Error>();
  for (const topic of topics) {
    const answer = await ask([topic]).then((found) => found.get(topic), onlyOfTopic);
    if (answer !== undefined) answers.set(topic, answer);
  }
  return answers;
}

/** Whether the brokers answered, and refused: their error codes have a name. */
const isOfTopic = (error: unknown): error is Error =>
  error instanceof Error && typeof (error as Error & { type?: unknown }).type === 'string';

function onlyOfTopic(error: unknown): Error {
  if (!isOfTopic(error)) throw error;
  return error;
}
