import { createHash, randomUUID } from 'node:crypto';
import { testKafka, writerType } from '../../support/topic-reader.ts';
import type { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import type { LargeBody } from './bodies.ts';

const FETCH_BYTES = 128 * 1024 * 1024;

/**
 * Reads the event topic until each of these entities' messages was seen in it, exact to the byte.
 * @returns the entities that were not found so
 */
export async function findMissing(fixture: Fixture, wanted: readonly LargeBody[]): Promise<string[]> {
  const digests = new Map(wanted.map(({ entityId, digest }) => [entityId, digest]));
  const consumer = testKafka(fixture.env).consumer({
    groupId: `bench-${randomUUID()}`,
    maxBytes: FETCH_BYTES,
    maxBytesPerPartition: FETCH_BYTES,
  });
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [fixture.topic('payment-status')], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ message: { key, value } }) => {
        const entityId = String(key);
        if (!value || !digests.has(entityId)) return;
        const type = await writerType(String(fixture.env.SCHEMA_REGISTRY_URL), value.readInt32BE(1));
        const { source } = type.fromBuffer(value.subarray(5)) as { source: string };
        if (createHash('sha256').update(source).digest('hex') === digests.get(entityId))
          digests.delete(entityId);
      },
    });
    await until('all are read back', () => digests.size === 0, 120_000).catch(() => {});
  } finally {
    await consumer.disconnect();
  }
  return [...digests.keys()];
}
