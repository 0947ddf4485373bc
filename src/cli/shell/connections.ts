import {
  checkRegistrySettings,
  openRegistry,
  registrySettings,
  schemaSettings,
} from '../../avro/open-registry.ts';
import type { Registry } from '../../avro/registry.ts';
import { commandTopicSettings } from '../../config/command-topics.ts';
import { envReader } from '../../config/env.ts';
import { subscriptionSettings } from '../../config/shared-settings.ts';
import { newId } from '../../crypto/ids.ts';
import { layoutSetting } from '../../crypto/layout.ts';
import { checkKafkaSettings, kafkaSettings, topicSettings } from '../../kafka/connect/settings.ts';
import { type KafkaAccess, openKafka } from '../../kafka/open-kafka.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Shell } from './shell.ts';

/** What most commands need, from the same variables as the processes. */
export function loadCliConfig({ source }: Pick<Shell, 'source'>) {
  const reader = envReader(source);
  const config = {
    kafka: reader.read(kafkaSettings),
    topics: reader.read(topicSettings),
    registry: reader.read(registrySettings),
    schemas: reader.read(schemaSettings),
  };
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  return reader.done(config);
}

/** For commands that ask the registry alone. */
export function loadRegistryConfig({ source }: Shell) {
  const reader = envReader(source);
  const config = {
    topics: reader.read(topicSettings),
    registry: reader.read(registrySettings),
    schemas: reader.read(schemaSettings),
  };
  checkRegistrySettings(config.registry, reader);
  return reader.done(config);
}

/** A command is over before anyone would want to be told of renewed files. */
const UNTOLD = { renewed() {}, unusable() {} };

export type CliConfig = ReturnType<typeof loadCliConfig>;

/** The brokers, with consumer groups of this user's own: rights to these are no rights to the groups of other users. */
export type CliKafka = KafkaAccess & {
  readonly groupPrefix: string;
  /** A consumer group that nobody else has. */
  newGroupId(): string;
};

export function connectKafka(config: Pick<CliConfig, 'kafka'>): CliKafka {
  // The client's own words would stand between the lines of the answer; failures come as errors all the same.
  const log = () => {};
  const clientId = 'hookline-cli';
  const access = openKafka({ settings: config.kafka, files: UNTOLD, clock: systemClock, clientId, log });
  const { username } = config.kafka;
  // The colon ends the name: rights of the user "ledger" do not reach the groups of "ledger-eu".
  const groupPrefix = username === undefined ? `${clientId}-` : `${clientId}-${username}:`;
  return { ...access, groupPrefix, newGroupId: () => `${groupPrefix}${newId()}` };
}

export const connectRegistry = (config: Pick<CliConfig, 'registry'>): Registry =>
  openRegistry(config.registry, UNTOLD);

export type DeliveryConfig = ReturnType<typeof loadDeliveryConfig>;

/** What sends deliveries again: the variables of ingress that say how a delivery is opened and stored. */
export function loadDeliveryConfig({ source }: Shell) {
  const reader = envReader(source);
  const topics = reader.read(topicSettings);
  const config = {
    kafka: reader.read(kafkaSettings),
    topics,
    registry: reader.read(registrySettings),
    schemas: reader.read(schemaSettings),
    subscriptions: reader.read(subscriptionSettings),
    delivery: reader.read({ layout: layoutSetting }),
    commands: reader.read(commandTopicSettings(topics.prefix)),
  };
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  return reader.done(config);
}

/** What looking at dead letters needs. */
export function loadLookConfig({ source }: Pick<Shell, 'source'>) {
  const reader = envReader(source);
  const config = { kafka: reader.read(kafkaSettings), topics: reader.read(topicSettings) };
  checkKafkaSettings(config.kafka, reader);
  return reader.done(config);
}
