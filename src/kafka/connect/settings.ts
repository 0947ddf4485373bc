import {
  type EnvReader,
  Fault,
  flag,
  integer,
  list,
  oneOf,
  optional,
  path,
  text,
  type ValuesOf,
} from '../../config/env.ts';
import { checkPlaintextCredentials, plaintextSettings } from '../../config/plaintext-credentials.ts';

export const MAX_MESSAGE_BYTES = 96 * 1024 * 1024;

export const kafkaSettings = {
  brokers: list(
    'KAFKA_BROKERS',
    { about: 'host:port of one or more brokers, separated by commas' },
    parseBroker,
  ),
  ssl: flag('KAFKA_SSL', { about: 'whether connections to the brokers use TLS', fallback: 'false' }),
  caFile: optional(path('KAFKA_CA_FILE', { about: "PEM file with the brokers' certificate authority" })),
  certFile: optional(path('KAFKA_CERT_FILE', { about: "PEM file with Hookline's client certificate" })),
  keyFile: optional(path('KAFKA_KEY_FILE', { about: "PEM file with that certificate's key" })),
  saslMechanism: optional(
    oneOf('KAFKA_SASL_MECHANISM', {
      about: 'how Hookline authenticates: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512',
      values: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    }),
  ),
  username: optional(text('KAFKA_USERNAME', { about: 'user for SASL' })),
  passwordFile: optional(path('KAFKA_PASSWORD_FILE', { about: "file with that user's password" })),
  ...plaintextSettings,
};

export const topicSettings = {
  prefix: text('TOPIC_PREFIX', {
    about: 'first part of every topic name, before the dot',
    fallback: 'payments',
  }),
};

/** How safely the topics must keep what is written to them. */
export const durabilitySettings = {
  minInsyncReplicas: integer('MIN_INSYNC_REPLICAS', {
    about:
      'minimum of min.insync.replicas and of the replication factor of the topics that Hookline writes to; 1 if one broker holds everything',
    fallback: '2',
    min: 1,
    max: 32_767,
  }),
};

export type KafkaSettings = ValuesOf<typeof kafkaSettings>;

/** What only several variables together show. */
export function checkKafkaSettings(settings: KafkaSettings, reader: EnvReader): void {
  const sasl = [settings.saslMechanism, settings.username, settings.passwordFile];
  if (sasl.some((one) => one !== undefined) && sasl.includes(undefined)) {
    reader.fault(
      'KAFKA_SASL_MECHANISM, KAFKA_USERNAME and KAFKA_PASSWORD_FILE go together: set all three or none.',
    );
  }
  if ((settings.certFile === undefined) !== (settings.keyFile === undefined)) {
    reader.fault('KAFKA_CERT_FILE and KAFKA_KEY_FILE go together: set both or none.');
  }
  if (!settings.ssl && (settings.caFile ?? settings.certFile) !== undefined) {
    reader.fault('KAFKA_CA_FILE and KAFKA_CERT_FILE need TLS: set KAFKA_SSL to true.');
  }
  if (settings.ssl === false && settings.saslMechanism !== undefined) {
    const use = {
      variable: 'KAFKA_BROKERS',
      hosts: (settings.brokers ?? []).map(hostOf),
      credential: 'the password of KAFKA_USERNAME',
      remedy: 'Set KAFKA_SSL to true',
    };
    checkPlaintextCredentials(settings, use, reader);
  }
}

/** The host of `host:port`. */
export const hostOf = (broker: string): string => broker.slice(0, broker.lastIndexOf(':'));

function parseBroker(broker: string): string {
  // kafkajs cuts at the first colon: an IPv6 literal can't be reached through it.
  const match = /^([A-Za-z0-9._-]+):(\d{1,5})$/.exec(broker);
  if (!match || Number(match[2]) < 1 || Number(match[2]) > 65_535) {
    throw new Fault(`has ${JSON.stringify(broker)}: give host:port with a name or an IPv4 address.`);
  }
  return broker;
}

export const recordSizeSettings = {
  maxRecordBytes: integer('MAX_RECORD_BYTES', {
    about:
      'max.message.bytes of the topics that carry bodies, if the cluster allows it; a default librdkafka consumer stops for good at a record of 100,000,000 bytes',
    fallback: '95000000',
    min: 1024,
    max: MAX_MESSAGE_BYTES,
  }),
};

/** A broker refuses requests above 100 MiB (socket.request.max.bytes) by cutting the connection. */
