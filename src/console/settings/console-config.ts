import { checkRegistrySettings, registrySettings, schemaSettings } from '../../avro/registry-settings.ts';
import { eventTopicsIn } from '../../avro/schema-files.ts';
import { checkCommandTopics, commandTopicSetting } from '../../config/command-topics.ts';
import { type EnvSource, envReader, readGroups } from '../../config/env.ts';
import { misspeltHints } from '../../config/misspelt.ts';
import { runtimeSettings, subscriptionSettings } from '../../config/shared-settings.ts';
import { layoutSetting } from '../../crypto/layout.ts';
import {
  checkKafkaSettings,
  durabilitySettings,
  kafkaSettings,
  recordSizeSettings,
  topicSettings,
} from '../../kafka/connect/settings.ts';
import { bodyStoreSettings, checkBodyStoreSettings } from '../../object-store/settings.ts';
import { dialectSettings } from '../../provider/settings.ts';
import { checkConsoleSettings, consoleSettings } from './console-settings.ts';

const { logLevel, stopDeadlineMs } = runtimeSettings;

/**
 * Every group of settings that the console reads, by the names that the CLI's groups have: what it shares with the CLI takes it as it
 * is. The table in docs/configuration.md is generated from it.
 */
export const consoleConfig = (prefix: string) => ({
  console: consoleSettings,
  kafka: kafkaSettings,
  topics: topicSettings,
  registry: registrySettings,
  schemas: schemaSettings,
  commands: { topics: commandTopicSetting(prefix) },
  durability: durabilitySettings,
  recordSize: recordSizeSettings,
  subscriptions: subscriptionSettings,
  delivery: { layout: layoutSetting },
  bodyStore: bodyStoreSettings,
  provider: dialectSettings,
  runtime: { logLevel, stopDeadlineMs },
});

export type ConsoleConfig = ReturnType<typeof loadConsoleConfig>;

/** @throws ConfigError with every fault at once */
export function loadConsoleConfig(source: EnvSource) {
  const reader = envReader(source);
  const groups = consoleConfig(reader.read(topicSettings).prefix);
  const config = readGroups(reader, groups);
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  const written = { prefix: config.topics.prefix, eventTopics: eventTopicsIn(config.schemas.dir) };
  checkCommandTopics(config.commands.topics, written, reader);
  checkBodyStoreSettings(config.bodyStore, reader);
  checkConsoleSettings(config.console, reader);
  return reader.done(config, misspeltHints(groups, source.env));
}
