import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readSchemaFiles } from '../../../src/avro/schema-files.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { LargeBodyWorker } from '../../../src/ingress/large-body/large-body-worker.ts';
import { loadIngressConfig } from '../../../src/ingress/settings.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { manualClock } from '../../support/manual-clock.ts';

beforeEach(() => {
  for (const name of ['AWS_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/nowhere/aws');
});
afterEach(() => vi.unstubAllEnvs());

// A delivery of the spool that ends its thread twice would become a dead-letter record.
it('a thread that starts while the file with the region of AWS is gone does not end', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9', SECRETS_DIR: '.' };
  const { kafka, ingress, bodyStore } = loadIngressConfig(nodeSource({ ...env, BODY_STORE: 's3://events' }));
  const schemaFiles = readSchemaFiles(undefined, 'events');
  const deaths: unknown[] = [];
  const large = new LargeBodyWorker({
    options: {
      kafka,
      schemaFiles,
      bodyStore,
      topicPrefix: 'payments',
      layout: ingress.layout,
      schemaIds: new Map(schemaFiles.map(({ name }, n) => [name, n + 1])),
      bodyStoreAttempts: 1,
    },
    atWork: 1_000_000,
    clock: manualClock(),
    heapMb: 64,
    storeRefusal: () => null,
    kafkaToken: undefined,
    bodySealing: undefined,
    encryptionKeysOf: () => [],
    observer: {
      delivery: deliveryParts().observer,
      publishing: { attempt() {}, confirmed() {}, sessionOpened() {} },
      objectWritten() {},
      tokenRejected() {},
      threadDied: (error) => deaths.push(error),
    },
  });
  try {
    await expect(large.identify(verified('{"type":"payment-status"}'))).resolves.toHaveProperty('eventId');
    expect(deaths).toEqual([]);
  } finally {
    await large.stop();
  }
});
