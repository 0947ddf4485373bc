import { type RegistrySettings, registrySettings } from '../../src/avro/registry-settings.ts';
import { envReader } from '../../src/config/env.ts';
import { type KafkaSettings, kafkaSettings } from '../../src/kafka/connect/settings.ts';

const reader = envReader({
  env: { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' },
  fileFault: () => null,
});

/** The defaults of all that reaches the brokers, but for these. */
export const kafkaSettingsWith = (settings: Partial<KafkaSettings>): KafkaSettings => ({
  ...reader.read(kafkaSettings),
  ...settings,
});

/** The defaults of all that reaches the registry, but for these. */
export const registrySettingsWith = (settings: Partial<RegistrySettings>): RegistrySettings => ({
  ...reader.read(registrySettings),
  ...settings,
});
