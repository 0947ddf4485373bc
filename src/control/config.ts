import { checkRegistrySettings, registrySettings, schemaSettings } from '../avro/open-registry.ts';
import { type EnvSource, envReader } from '../config/env.ts';
import { runtimeSettings } from '../config/shared-settings.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import {
  checkKafkaSettings,
  durabilitySettings,
  kafkaSettings,
  topicSettings,
} from '../kafka/connect/settings.ts';
import { checkProviderSettings, providerSettings } from '../provider/settings.ts';
import { subscriptionSettings } from '../subscriptions/settings.ts';
import { controlSettings } from './settings.ts';

const { secretsDir, retiredKeysTtlMs } = subscriptionSettings;

/** Every group of settings that control reads; the table in docs/configuration.md is generated from it. */
export const controlConfig = {
  kafka: kafkaSettings,
  durability: durabilitySettings,
  topics: topicSettings,
  registry: registrySettings,
  schemas: schemaSettings,
  runtime: runtimeSettings,
  provider: providerSettings,
  subscriptions: { secretsDir, retiredKeysTtlMs },
  control: controlSettings,
};

export type ControlConfig = ReturnType<typeof loadControlConfig>;

/** @throws ConfigError with every fault at once */
export function loadControlConfig(source: EnvSource) {
  const reader = envReader(source);
  const config = {
    kafka: reader.read(controlConfig.kafka),
    durability: reader.read(controlConfig.durability),
    topics: reader.read(controlConfig.topics),
    registry: reader.read(controlConfig.registry),
    schemas: reader.read(controlConfig.schemas),
    runtime: reader.read(controlConfig.runtime),
    provider: reader.read(controlConfig.provider),
    subscriptions: reader.read(controlConfig.subscriptions),
    control: reader.read(controlConfig.control),
  };
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  checkProviderSettings(config.provider, reader);
  const { commandTopics } = config.control;
  const usual = { name: topicName(config.topics.prefix, OWN_TOPICS.commands), refs: null };
  return reader.done({ ...config, commandTopics: commandTopics?.length > 0 ? commandTopics : [usual] });
}
