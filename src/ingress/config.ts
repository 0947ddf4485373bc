import { checkRegistrySettings, registrySettings, schemaSettings } from '../avro/open-registry.ts';
import { type EnvSource, envReader, readGroups } from '../config/env.ts';
import {
  runtimeSettings,
  spoolSettings,
  subscriptionSettings,
  tracingSettings,
} from '../config/shared-settings.ts';
import {
  checkKafkaSettings,
  durabilitySettings,
  kafkaSettings,
  topicSettings,
} from '../kafka/connect/settings.ts';
import { minBudget } from './body/memory-shares.ts';
import { ingressSettings } from './settings.ts';

/** Every group of settings that ingress reads; the table in docs/configuration.md is generated from it. */
export const ingressConfig = {
  kafka: kafkaSettings,
  durability: durabilitySettings,
  topics: topicSettings,
  registry: registrySettings,
  schemas: schemaSettings,
  runtime: runtimeSettings,
  subscriptions: subscriptionSettings,
  ingress: ingressSettings,
  spool: spoolSettings,
  tracing: tracingSettings,
};

export type IngressConfig = ReturnType<typeof loadIngressConfig>;

/** @throws ConfigError with every fault at once */
export function loadIngressConfig(source: EnvSource) {
  const reader = envReader(source);
  const config = readGroups(reader, ingressConfig);
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile, memoryBudgetBytes, maxBodyBytes } = config.ingress;
  if (memoryBudgetBytes < minBudget(maxBodyBytes)) {
    reader.fault(
      `MEMORY_BUDGET_BYTES is ${memoryBudgetBytes}: bodies of MAX_BODY_BYTES (${maxBodyBytes}) need at least ${minBudget(maxBodyBytes)}.`,
    );
  }
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    reader.fault('TLS_CERT_FILE and TLS_KEY_FILE go together: set both or none.');
  }
  if (tlsClientCaFile !== undefined && tlsCertFile === undefined) {
    reader.fault('TLS_CLIENT_CA_FILE needs HTTPS: set TLS_CERT_FILE and TLS_KEY_FILE.');
  }
  const { secretsDir, sealingKeyFile } = config.subscriptions;
  if (secretsDir === undefined && sealingKeyFile === undefined) {
    reader.fault(
      'SECRETS_DIR and SEALING_KEY_FILE are both unset: no webhook could be verified. Set one of them.',
    );
  }
  return reader.done(config);
}
