import { openRegistry } from '../../avro/open-registry.ts';
import type { Registry } from '../../avro/registry.ts';
import { checkRegistrySettings, registrySettings, schemaSettings } from '../../avro/registry-settings.ts';
import { eventTopicsIn } from '../../avro/schema-files.ts';
import { checkCommandTopics, commandTopicSetting } from '../../config/command-topics.ts';
import { envReader, type ValuesOf } from '../../config/env.ts';
import { misspeltHints } from '../../config/misspelt.ts';
import { UNOBSERVED_FILES } from '../../config/renewed-files.ts';
import { controlGroupSetting, runtimeSettings, subscriptionSettings } from '../../config/shared-settings.ts';
import { layoutSetting } from '../../crypto/layout.ts';
import { openRedelivery, type Redelivery, type RedeliveryDeps } from '../../dead-letters/open-redelivery.ts';
import {
  checkKafkaSettings,
  durabilitySettings,
  kafkaSettings,
  recordSizeSettings,
  topicSettings,
} from '../../kafka/connect/settings.ts';
import { type KafkaAccess, LARGE_RECORDS, openKafka } from '../../kafka/open-kafka.ts';
import type { BodyStore } from '../../object-store/body-store.ts';
import { openBodyStore } from '../../object-store/open-body-store.ts';
import { bodyStoreSettings, checkBodyStoreSettings } from '../../object-store/settings.ts';
import { systemClock } from '../../runtime/clock.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import type { Shell } from './shell.ts';

/** Groups of environment variables; the same ones as those of the processes. */
export const cliSettingsFor = (prefix: string) => ({
  kafka: kafkaSettings,
  topics: topicSettings,
  registry: registrySettings,
  schemas: schemaSettings,
  commands: { topics: commandTopicSetting(prefix) },
  control: { groupId: controlGroupSetting },
  durability: durabilitySettings,
  recordSize: recordSizeSettings,
  subscriptions: subscriptionSettings,
  delivery: { layout: layoutSetting },
  bodyStore: bodyStoreSettings,
  runtime: runtimeSettings,
});

type Groups = ReturnType<typeof cliSettingsFor>;

/** All that the command line tool shares with the processes. */
export const CLI_SETTINGS = cliSettingsFor('');

export type Config<G extends keyof Groups> = { readonly [Name in G]: ValuesOf<Groups[Name]> };

/**
 * Reads the groups that a command needs.
 * @throws ConfigError with every fault in them at once
 */
export function loadConfig<G extends keyof Groups>(
  { source }: Pick<Shell, 'source'>,
  ...names: readonly G[]
): Config<G> {
  const reader = envReader(source);
  const { prefix } = reader.read(topicSettings);
  const groups = cliSettingsFor(prefix);
  const values = names.map((name) => [name, reader.read(groups[name])]);
  const config: Partial<Config<keyof Groups>> = Object.fromEntries(values);
  if (config.kafka) checkKafkaSettings(config.kafka, reader);
  if (config.registry) checkRegistrySettings(config.registry, reader);
  if (config.commands) {
    const eventTopics = eventTopicsIn(config.schemas?.dir);
    checkCommandTopics(config.commands.topics, { prefix, eventTopics }, reader);
  }
  if (config.bodyStore) checkBodyStoreSettings(config.bodyStore, reader);
  return reader.done(config, misspeltHints(CLI_SETTINGS, source.env)) as Config<G>;
}

/** What most commands need. */
export type CliConfig = Config<(typeof CLI_GROUPS)[number]>;
export const CLI_GROUPS = ['kafka', 'topics', 'registry', 'schemas'] as const;

export function connectKafka(config: Config<'kafka'>): KafkaAccess {
  // The client's log would appear between the lines of the answer. Failures are thrown as errors anyway.
  const log = () => {};
  const clientId = 'hookline-cli';
  const requestTimeoutMs = LARGE_RECORDS.requestMs;
  return openKafka({
    settings: config.kafka,
    files: UNOBSERVED_FILES,
    clock: systemClock,
    clientId,
    log,
    requestTimeoutMs,
  });
}

export const connectRegistry = (config: Config<'registry'>): Registry =>
  openRegistry(config.registry, { files: UNOBSERVED_FILES, clock: systemClock });

/** The object store of BODY_STORE; undefined where that is unset. */
export const connectBodyStore = (config: Config<'bodyStore'>): Promise<BodyStore | undefined> =>
  openBodyStore(config.bodyStore, {
    files: UNOBSERVED_FILES,
    clock: systemClock,
    observer: { written() {}, troubleChanged() {} },
  });

/** What publishing deliveries again needs: the variables of ingress. */
export const REDELIVERY_GROUPS = [
  ...CLI_GROUPS,
  'subscriptions',
  'delivery',
  'commands',
  'bodyStore',
] as const;

/** Publishes deliveries of the dead-letter topic or of a spool again. */
export const connectRedelivery = async (
  { note, signal }: Pick<Shell, 'note' | 'signal'>,
  config: Config<(typeof REDELIVERY_GROUPS)[number]>,
  kafka: KafkaAccess,
  options: Pick<RedeliveryDeps, 'publishDeadlineMs' | 'commandTopics'>,
): Promise<Redelivery> => {
  const bodies = await connectBodyStore(config);
  const registry = connectRegistry(config);
  const opening = openRedelivery({ config, kafka, note, signal, registry, bodies, ...options });
  return orAborted(opening, signal).catch((error) => {
    // What opens after an abort is nobody's.
    opening.then(
      (late) => late.stop(),
      () => bodies?.close(),
    );
    throw error;
  });
};
