import { checkRegistrySettings, registrySettings, schemaSettings } from '../../avro/open-registry.ts';
import { envReader } from '../../config/env.ts';
import { layoutSetting } from '../../crypto/layout.ts';
import {
  checkKafkaSettings,
  commandTopicSettings,
  kafkaSettings,
  topicSettings,
} from '../../kafka/connect/settings.ts';
import { subscriptionSettings } from '../../subscriptions/settings.ts';
import type { Shell } from './shell.ts';

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
