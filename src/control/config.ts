import { checkRegistrySettings, registrySettings, schemaSettings } from '../avro/registry-settings.ts';
import { eventTopicsIn } from '../avro/schema-files.ts';
import { checkCommandTopics, commandTopicsSetting } from '../config/command-topics.ts';
import {
  type EnvSource,
  envReader,
  integer,
  milliseconds,
  oneOf,
  path,
  readGroups,
  type Setting,
  url,
} from '../config/env.ts';
import { misspeltHints } from '../config/misspelt.ts';
import { controlGroupSetting, runtimeSettings, subscriptionSettings } from '../config/shared-settings.ts';
import { canonicalAddress } from '../core/address.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import {
  checkKafkaSettings,
  durabilitySettings,
  kafkaSettings,
  topicSettings,
} from '../kafka/connect/settings.ts';
import { checkProviderSettings, providerSettings } from '../provider/settings.ts';

/** As every reader of URLs spells it: what the provider lists is compared with it. */
function canonicalUrl(name: string, shape: Parameters<typeof url>[1]): Setting<string> {
  const given = url(name, shape);
  const parse: typeof given.parse = (text, source) =>
    canonicalAddress(given.parse(text, source)).replace(/\/+$/, '');
  return { ...given, parse };
}

const controlSettings = {
  publicUrl: canonicalUrl('PUBLIC_URL', {
    about: 'address at which the provider reaches ingress; receiver URLs are {PUBLIC_URL}/webhooks/{ref}',
  }),
  commandTopics: commandTopicsSetting(''),
  commandDeadlineMs: milliseconds('COMMAND_DEADLINE_MS', {
    about:
      'longest time from the start of a command to its outcome; then it is FAILED; the time that it waits behind other commands does not count',
    fallback: '600000',
    min: 1,
  }),
  reconcile: oneOf('RECONCILE', {
    about:
      'what is done about a difference between the provider and the state: off, report, or repair; foreign subscriptions are never changed',
    fallback: 'report',
    values: ['off', 'report', 'repair'],
  }),
  reconcileIntervalMs: milliseconds('RECONCILE_INTERVAL_MS', {
    about:
      'how often the provider and the state are compared, and deleted subscriptions without live keys are removed from the state',
    fallback: '300000',
    min: 100,
  }),
  reconcileRepairMax: integer('RECONCILE_REPAIR_MAX', {
    about:
      'how many subscriptions one comparison may repair; if it would change more, it changes none, and an alert fires',
    fallback: '5',
    min: 0,
  }),
  groupId: controlGroupSetting,
  sessionTimeoutMs: milliseconds('CONTROL_SESSION_TIMEOUT_MS', {
    about:
      'how long the working control process may be silent before a standby takes over; the brokers require at least their group.min.session.timeout.ms',
    fallback: '10000',
    min: 1_000,
  }),
  sealingKeyFile: path('SEALING_KEY_FILE', {
    about:
      'file with the key that seals subscription secrets in Kafka: 32 bytes as hex, base64 or text; one per line',
  }),
  retiredDecryptionKeysTtlMs: integer('RETIRED_DECRYPTION_KEYS_TTL_MS', {
    about:
      "how long a deleted subscription's encryption keys are kept for what was verified before; above twice what the dead-letter topic keeps a record (retention.ms + segment.ms), as a redrive that fails begins its retention anew",
    fallback: String(90 * 24 * 60 * 60 * 1_000),
  }),
};

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
  const config = readGroups(reader, controlConfig);
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  checkProviderSettings(config.provider, reader);
  const { commandTopics } = config.control;
  const written = { prefix: config.topics.prefix, eventTopics: eventTopicsIn(config.schemas.dir) };
  checkCommandTopics(commandTopics, written, reader);
  const usual = { name: topicName(config.topics.prefix, OWN_TOPICS.commands), refs: null };
  return reader.done(
    { ...config, commandTopics: commandTopics?.length > 0 ? commandTopics : [usual] },
    misspeltHints(controlConfig, source.env),
  );
}
