import { readSchemaFiles } from '../../src/avro/schema-files.ts';
import { nodeSource } from '../../src/config/env.ts';
import { LargeBodyWorker } from '../../src/ingress/large-body/large-body-worker.ts';
import { loadIngressConfig } from '../../src/ingress/settings.ts';
import { deliveryParts } from './delivery-parts.ts';
import { manualClock } from './manual-clock.ts';

/** A worker with its real thread, whose brokers nobody can reach. */
export function largeBodyWorker(
  env: Readonly<Record<string, string>> = {},
  threadDied: (error: unknown) => void = () => {},
): LargeBodyWorker {
  const nowhere = {
    KAFKA_BROKERS: '127.0.0.1:9',
    SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
    SECRETS_DIR: '.',
  };
  const { kafka, ingress, bodyStore } = loadIngressConfig(nodeSource({ ...nowhere, ...env }));
  const schemaFiles = readSchemaFiles(undefined, 'events');
  return new LargeBodyWorker({
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
      threadDied,
    },
  });
}
