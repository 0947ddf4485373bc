import kafkajs from 'kafkajs';
import type { KafkaClient } from '../connect/kafkajs-client.ts';

/** Calls `work` with an admin connection, and closes it afterwards. */
export async function withAdmin<T>(
  kafka: KafkaClient,
  work: (admin: kafkajs.Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** The effective settings of topics, or of brokers by id: by resource and setting. Unset ones are left out. */
export async function describeConfigs(
  admin: kafkajs.Admin,
  names: readonly string[],
  settings?: readonly string[],
  {
    type = kafkajs.ConfigResourceTypes.TOPIC,
    only = () => true,
  }: { type?: kafkajs.ConfigResourceTypes; only?: (entry: kafkajs.ConfigEntries) => boolean } = {},
): Promise<Map<string, Map<string, string>>> {
  const resources = names.map((name) => ({ type, name, ...(settings && { configNames: [...settings] }) }));
  const answer = await admin.describeConfigs({ includeSynonyms: false, resources });
  return new Map(
    answer.resources.map(({ resourceName, configEntries }) => {
      const entries = configEntries
        .filter((entry) => only(entry) && entry.configValue !== null)
        .map((entry) => [entry.configName, entry.configValue] as const);
      return [resourceName, new Map(entries)];
    }),
  );
}

/** How long a topic keeps records, in milliseconds; Infinity where for ever, null where the brokers do not say. */
export async function retentionOf(kafka: KafkaClient, topic: string): Promise<number | null> {
  const configs = await withAdmin(kafka, (admin) => describeConfigs(admin, [topic], ['retention.ms']));
  const text = configs.get(topic)?.get('retention.ms');
  if (text === undefined) return null;
  return Number(text) < 0 ? Number.POSITIVE_INFINITY : Number(text);
}

/** Those of these topics that do not exist. */
export async function missingTopics(admin: kafkajs.Admin, names: readonly string[]): Promise<string[]> {
  const existing = new Set(await admin.listTopics());
  return names.filter((name) => !existing.has(name));
}

/** If the brokers deny one topic, or do not have it, the request for all fails: then each topic is asked for alone. */
export async function askForEach<T>(
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

/** Whether the brokers answered with an error: their error codes have a name. */
const isOfTopic = (error: unknown): error is Error =>
  error instanceof Error && typeof (error as Error & { type?: unknown }).type === 'string';

function onlyOfTopic(error: unknown): Error {
  if (!isOfTopic(error)) throw error;
  return error;
}
