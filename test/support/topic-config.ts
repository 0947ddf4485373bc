import kafkajs from 'kafkajs';
import { asAdmin } from './topic-reader.ts';
import { until } from './until.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Sets a topic's own settings to exactly these, and waits until the brokers tell so. */
export async function setTopicConfig(
  env: Env,
  topic: string,
  config: Readonly<Record<string, string>>,
): Promise<void> {
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }];
  await asAdmin(env, (admin) => admin.alterConfigs({ validateOnly: false, resources }));
  await untilTopicHas(env, topic, config);
}

/** Sets a topic's max.message.bytes alone among its own settings, and waits until the brokers tell so. */
export const setTopicBytes = (env: Env, topic: string, bytes: number): Promise<void> =>
  setTopicConfig(env, topic, { 'max.message.bytes': String(bytes) });

/** Waits until the brokers tell that a topic's settings in force are these. */
export const untilTopicHas = (
  env: Env,
  topic: string,
  config: Readonly<Record<string, string>>,
): Promise<true> =>
  until(`${topic} has ${JSON.stringify(config)}`, async () => {
    const found = await topicConfig(env, topic);
    return Object.entries(config).every(([name, value]) => found[name] === value);
  });

/** A topic's settings as they are in force. Waits for a broker that has not heard of the topic yet. */
export async function topicConfig(env: Env, topic: string): Promise<Record<string, string>> {
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }];
  return asAdmin(env, async (admin) => {
    const answer = await until(`the broker knows ${topic}`, () =>
      admin.describeConfigs({ includeSynonyms: false, resources }).catch((error) => {
        if (error.type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
        return undefined;
      }),
    );
    const entries = answer.resources[0]?.configEntries ?? [];
    return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
  });
}
