import { expect, it } from 'vitest';
import { readSchemaFiles } from '../../../src/avro/schema-files.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { LargeBodyWorker } from '../../../src/ingress/large-body/large-body-worker.ts';
import { loadIngressConfig } from '../../../src/ingress/settings.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { manualClock } from '../../support/manual-clock.ts';

it('a large body that the brokers do not confirm is refused with the reason that its thread knows', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9', SECRETS_DIR: '.' };
  const { kafka, ingress, bodyStore } = loadIngressConfig(nodeSource(env));
  const schemaFiles = readSchemaFiles(undefined, 'events');
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
      threadDied() {},
    },
  });
  try {
    await expect(large.store(verified('{"type":"payment-status"}'), () => 2_000)).rejects.toMatchObject({
      code: 'PUBLISH_DEADLINE',
      message: expect.stringMatching(/payments.payment-status: .*127.0.0.1:9.*KAFKA_BROKERS/),
    });
  } finally {
    await large.stop();
  }
}, 30_000);
