import { testKafka } from './topic-reader.ts';
import { until } from './until.ts';

/** Sets a topic's max.message.bytes alone among its own settings, and waits until the brokers tell so. */
export async function setTopicBytes(
  env: Readonly<Record<string, string | undefined>>,
  topic: string,
  bytes: number,
): Promise<void> {
  const name = 'max.message.bytes';
  const admin = testKafka(env).admin();
  await admin.connect();
  try {
    const configEntries = [{ name, value: String(bytes) }];
    const resources = [{ type: 2, name: topic, configEntries }];
    await admin.alterConfigs({ validateOnly: false, resources });
    await until(`${topic} takes ${bytes} bytes`, async () => {
      const wanted = [{ type: 2, name: topic, configNames: [name] }];
      const answer = await admin.describeConfigs({ includeSynonyms: false, resources: wanted });
      return answer.resources[0]?.configEntries[0]?.configValue === String(bytes);
    });
  } finally {
    await admin.disconnect();
  }
}
