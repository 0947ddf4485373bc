import {
  type EnvReader,
  Fault,
  flag,
  integer,
  list,
  oneOf,
  optional,
  path,
  setting,
  text,
  type ValuesOf,
} from '../../config/env.ts';
import { checkPlaintextCredentials, plaintextSettings } from '../../config/plaintext-credentials.ts';
import { proxySettings } from '../../config/proxy.ts';
import { MAX_MESSAGE_BYTES } from '../../core/record.ts';
import { checkOauthSettings, oauthSettings } from '../../tokens/settings.ts';
import { hostOf, parseBroker } from './broker-address.ts';

export const kafkaSettings = {
  brokers: list(
    'KAFKA_BROKERS',
    { about: 'host:port of one or more brokers, separated by commas; an IPv6 address is in brackets' },
    parseBroker,
  ),
  ssl: flag('KAFKA_SSL', { about: 'whether connections to the brokers use TLS', fallback: 'false' }),
  caFile: optional(path('KAFKA_CA_FILE', { about: "PEM file with the brokers' certificate authority" })),
  certFile: optional(path('KAFKA_CERT_FILE', { about: "PEM file with Hookline's client certificate" })),
  keyFile: optional(path('KAFKA_KEY_FILE', { about: "PEM file with that certificate's key" })),
  saslMechanism: optional(
    oneOf('KAFKA_SASL_MECHANISM', {
      about:
        'how Hookline authenticates: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (user and password), OAUTHBEARER (access token) or AWS_MSK_IAM (AWS credentials)',
      values: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'AWS_MSK_IAM'],
    }),
  ),
  username: optional(text('KAFKA_USERNAME', { about: 'user for SASL' })),
  passwordFile: optional(path('KAFKA_PASSWORD_FILE', { about: "file with that user's password" })),
  ...oauthSettings('KAFKA_OAUTH', 'the brokers'),
  oauthExtensions: list(
    'KAFKA_OAUTH_EXTENSIONS',
    {
      about:
        'SASL extensions that go with the token, as name=value separated by commas, such as logicalCluster=lkc-1,identityPoolId=pool-1',
      fallback: '',
    },
    parseExtension,
  ),
  oauthTokenFile: optional(
    path('KAFKA_OAUTH_TOKEN_FILE', {
      about:
        'file with an access token that something else renews, such as a projected service account token; read again before each use',
    }),
  ),
  awsRegion: optional(
    text('KAFKA_AWS_REGION', { about: 'region of an Amazon MSK cluster, for AWS_MSK_IAM' }),
  ),
  ...plaintextSettings,
  ...proxySettings,
};

export const topicSettings = {
  prefix: setting(
    'TOPIC_PREFIX',
    { about: 'first part of every topic name, before the dot', fallback: 'payments' },
    parsePrefix,
  ),
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
  checkSaslSettings(settings, reader);
  if ((settings.certFile === undefined) !== (settings.keyFile === undefined)) {
    reader.fault('KAFKA_CERT_FILE and KAFKA_KEY_FILE go together: set both or none.', [
      'KAFKA_CERT_FILE',
      'KAFKA_KEY_FILE',
    ]);
  }
  if (!settings.ssl && (settings.caFile ?? settings.certFile) !== undefined) {
    reader.fault('KAFKA_CA_FILE and KAFKA_CERT_FILE need TLS: set KAFKA_SSL to true.', ['KAFKA_SSL']);
  }
  if (settings.ssl === false && settings.saslMechanism !== undefined) {
    const use = {
      variable: 'KAFKA_BROKERS',
      hosts: (settings.brokers ?? []).map(hostOf),
      credential: settings.username === undefined ? 'access tokens' : 'the password of KAFKA_USERNAME',
      remedy: 'Set KAFKA_SSL to true',
    };
    checkPlaintextCredentials(settings, use, reader);
  }
}

const BY_PASSWORD: readonly (string | undefined)[] = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'];

/** Each mechanism has variables of its own: those of another would be taken for in use. */
function checkSaslSettings(settings: KafkaSettings, reader: EnvReader): void {
  const { saslMechanism: mechanism, username, passwordFile, oauthTokenUrl, oauthTokenFile } = settings;
  const needsPassword = BY_PASSWORD.includes(mechanism);
  const byPassword = [username, passwordFile].filter((one) => one !== undefined).length;
  if (byPassword !== (needsPassword ? 2 : 0)) {
    reader.fault(
      'KAFKA_USERNAME and KAFKA_PASSWORD_FILE go with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 in KAFKA_SASL_MECHANISM: set all three or none.',
      ['KAFKA_SASL_MECHANISM', 'KAFKA_PASSWORD_FILE'],
    );
  }
  const hasTokens = [oauthTokenUrl, oauthTokenFile].filter((one) => one !== undefined).length;
  if (mechanism === 'OAUTHBEARER' ? hasTokens !== 1 : hasTokens > 0) {
    reader.fault(
      'OAUTHBEARER in KAFKA_SASL_MECHANISM goes with one of KAFKA_OAUTH_TOKEN_URL and KAFKA_OAUTH_TOKEN_FILE.',
      ['KAFKA_SASL_MECHANISM', 'KAFKA_OAUTH_TOKEN_URL', 'KAFKA_OAUTH_TOKEN_FILE'],
    );
  }
  if ((mechanism === 'AWS_MSK_IAM') !== (settings.awsRegion !== undefined)) {
    reader.fault('AWS_MSK_IAM in KAFKA_SASL_MECHANISM and KAFKA_AWS_REGION go together: set both or none.', [
      'KAFKA_SASL_MECHANISM',
    ]);
  }
  if (mechanism !== 'OAUTHBEARER' && (settings.oauthExtensions ?? []).length > 0) {
    reader.fault('KAFKA_OAUTH_EXTENSIONS needs OAUTHBEARER in KAFKA_SASL_MECHANISM.', [
      'KAFKA_SASL_MECHANISM',
    ]);
  }
  checkOauthSettings('KAFKA_OAUTH', settings, reader);
}

/** RFC 7628, 3.1: a name of letters; a value of printable characters. The name `auth` is the token's. */
function parseExtension(pair: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] = /^([A-Za-z]+)=([\x20-\x7e]+)$/.exec(pair) ?? [];
  if (name === '' || name === 'auth')
    throw new Fault(`has ${JSON.stringify(pair)}: give name=value, the name in letters and not "auth".`);
  return [name, value];
}

/** Kafka's own rule, with space for the longest name behind it. */
function parsePrefix(text: string): string {
  if (/^[A-Za-z0-9._-]{1,150}$/.test(text)) return text;
  throw new Fault('is no part of a topic name: give 1 to 150 of A-Z, a-z, 0-9, dot, underscore and hyphen.');
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
