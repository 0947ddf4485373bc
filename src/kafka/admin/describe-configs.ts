import kafkajs from 'kafkajs';

/** Settings of these topics, or of brokers by id, as they are in force: by topic and name. Unset ones are left out. */
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
