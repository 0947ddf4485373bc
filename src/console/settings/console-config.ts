import { checkRegistrySettings } from '../../avro/registry-settings.ts';
import { eventTopicsIn } from '../../avro/schema-files.ts';
import { cliSettingsFor } from '../../cli/shell/connections.ts';
import { checkCommandTopics } from '../../config/command-topics.ts';
import { type EnvSource, envReader, readGroups } from '../../config/env.ts';
import { misspeltHints } from '../../config/misspelt.ts';
import { checkKafkaSettings, topicSettings } from '../../kafka/connect/settings.ts';
import { checkBodyStoreSettings } from '../../object-store/settings.ts';
import { dialectSettings } from '../../provider/settings.ts';
import { checkConsoleSettings, consoleSettings } from './console-settings.ts';

/**
 * Every group of settings that the console reads: those of the CLI, under the same names, as it runs the CLI's commands; and its own.
 * The table in docs/configuration.md is generated from it.
 */
export const consoleConfig = (prefix: string) => {
  const { control, runtime, ...ofCli } = cliSettingsFor(prefix);
  const { logLevel, stopDeadlineMs } = runtime;
  return {
    console: consoleSettings,
    ...ofCli,
    provider: dialectSettings,
    runtime: { logLevel, stopDeadlineMs },
  };
};

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
