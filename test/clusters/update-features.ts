import { apiVersionsV3, Connection, updateFeaturesV1 } from '@platformatic/kafka';

const UPGRADE = 1;
const TIMEOUT_MS = 30_000;

/**
 * Raises all that a cluster has in common to what its broker can do, as `kafka-features upgrade --release-version` does.
 * @returns the features and their levels
 */
export async function updateFeatures(broker: string): Promise<Record<string, number>> {
  const [host = '', port] = broker.split(':');
  const connection = new Connection('test');
  await connection.connect(host, Number(port));
  try {
    const { supportedFeatures = [], finalizedFeatures = [] } = await apiVersionsV3.api.async(
      connection,
      'test',
      '1',
    );
    const levelOf = (name: string) =>
      finalizedFeatures.find((one) => one.name === name)?.maxVersionLevel ?? 0;
    const updates = supportedFeatures
      .filter(({ name, maxVersion }) => name !== 'kraft.version' && maxVersion > levelOf(name))
      .map(
        ({ name, maxVersion }) =>
          ({ feature: name, maxVersionLevel: maxVersion, upgradeType: UPGRADE }) as const,
      );
    await updateFeaturesV1.api.async(connection, TIMEOUT_MS, updates, false);
    return Object.fromEntries(updates.map(({ feature, maxVersionLevel }) => [feature, maxVersionLevel]));
  } finally {
    await connection.close();
  }
}
