import kafkajs from 'kafkajs';
import { testKafka } from './topic-reader.ts';
import { until } from './until.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Sets a topic's own settings to exactly these, and waits until the brokers tell so. */
export async function setTopicConfig(
  env: Env,
  topic: string,
  config: Readonly<Record<string, string>>,
): Promise<void> {
  const admin = testKafka(env).admin();
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  await admin.connect();
  try {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    const resources = [{ type, name: topic, configEntries }];
    await admin.alterConfigs({ validateOnly: false, resources });
    await until(`${topic} has ${JSON.stringify(config)}`, async () => {
      const found = await topicConfig(env, topic);
      return Object.entries(config).every(([name, value]) => found[name] === value);
    });
  } finally {
    await admin.disconnect();
  }
}

/** Sets a topic's max.message.bytes alone among its own settings, and waits until the brokers tell so. */
export const setTopicBytes = (env: Env, topic: string, bytes: number): Promise<void> =>
  setTopicConfig(env, topic, { 'max.message.bytes': String(bytes) });

/** A topic's settings as they are in force. */
export async function topicConfig(env: Env, topic: string): Promise<Record<string, string>> {
  const admin = testKafka(env).admin();
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  await admin.connect();
  try {
    const answer = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type, name: topic }],
    });
    const entries = answer.resources[0]?.configEntries ?? [];
    return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
  } finally {
    await admin.disconnect();
  }
}
