import { describe, expect, it } from 'vitest';
import { envReader } from '../../../src/config/env.ts';
import { checkKafkaSettings, kafkaSettings, topicSettings } from '../../../src/kafka/connect/settings.ts';
import { faultsOf } from '../../support/faults-of.ts';

type Env = Record<string, string>;

/** The faults of an environment; every file can be read. */
function faultsIn(env: Env): readonly string[] {
  const reader = envReader({
    env: { KAFKA_BROKERS: 'kafka.example:9093', KAFKA_SSL: 'true', ...env },
    fileFault: () => null,
  });
  const settings = reader.read(kafkaSettings);
  checkKafkaSettings(settings, reader);
  return faultsOf(() => reader.done(settings));
}

const TOKENS = {
  KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
  KAFKA_OAUTH_TOKEN_URL: 'https://idp.example/token',
  KAFKA_OAUTH_CLIENT_ID: 'hookline',
  KAFKA_OAUTH_CLIENT_SECRET_FILE: '/secret',
};

describe('ways to log in to the brokers', () => {
  it.each<[string, Env]>([
    ['nothing', {}],
    [
      'a password',
      { KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_USERNAME: 'ann', KAFKA_PASSWORD_FILE: '/password' },
    ],
    ['client credentials', { ...TOKENS, KAFKA_OAUTH_SCOPE: 'kafka', KAFKA_OAUTH_CA_FILE: '/ca' }],
    [
      'a token in a file, with extensions',
      {
        KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
        KAFKA_OAUTH_TOKEN_FILE: '/token',
        KAFKA_OAUTH_EXTENSIONS: 'logicalCluster=lkc-1, identityPoolId=pool-1',
      },
    ],
    ['AWS IAM', { KAFKA_SASL_MECHANISM: 'AWS_MSK_IAM', KAFKA_AWS_REGION: 'eu-central-1' }],
  ])('%s: no fault', (_, env) => {
    expect(faultsIn(env)).toEqual([]);
  });

  it.each<[string, Env, RegExp]>([
    [
      'a password without its user',
      { KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_PASSWORD_FILE: '/p' },
      /KAFKA_USERNAME/,
    ],
    [
      'a user without a mechanism',
      { KAFKA_USERNAME: 'ann' },
      /KAFKA_USERNAME and KAFKA_PASSWORD_FILE go with PLAIN/,
    ],
    ['a password beside tokens', { ...TOKENS, KAFKA_USERNAME: 'ann' }, /KAFKA_USERNAME/],
    [
      'tokens from nowhere',
      { KAFKA_SASL_MECHANISM: 'OAUTHBEARER' },
      /one of KAFKA_OAUTH_TOKEN_URL and KAFKA_OAUTH_TOKEN_FILE/,
    ],
    [
      'tokens from two places',
      { ...TOKENS, KAFKA_OAUTH_TOKEN_FILE: '/token' },
      /one of KAFKA_OAUTH_TOKEN_URL/,
    ],
    [
      'tokens without the mechanism',
      { KAFKA_OAUTH_TOKEN_FILE: '/token' },
      /OAUTHBEARER in KAFKA_SASL_MECHANISM/,
    ],
    [
      'a client without a secret',
      { ...TOKENS, KAFKA_OAUTH_CLIENT_SECRET_FILE: '' },
      /go together: set all three/,
    ],
    [
      'a scope for no endpoint',
      { KAFKA_OAUTH_SCOPE: 'kafka' },
      /KAFKA_OAUTH_SCOPE.*need KAFKA_OAUTH_TOKEN_URL/,
    ],
    [
      'an endpoint without TLS',
      { ...TOKENS, KAFKA_OAUTH_TOKEN_URL: 'http://idp.example/token' },
      /the secret of KAFKA_OAUTH_CLIENT_ID sent to idp.example without TLS/,
    ],
    [
      'an authority of an endpoint without TLS',
      { ...TOKENS, KAFKA_OAUTH_TOKEN_URL: 'http://127.0.0.1/token', KAFKA_OAUTH_CA_FILE: '/ca' },
      /KAFKA_OAUTH_CA_FILE needs an https address/,
    ],
    [
      'brokers without TLS',
      { ...TOKENS, KAFKA_SSL: 'false' },
      /access tokens sent to kafka.example without TLS/,
    ],
    [
      'a region without IAM',
      { KAFKA_AWS_REGION: 'eu-central-1' },
      /AWS_MSK_IAM.*KAFKA_AWS_REGION go together/,
    ],
    [
      'IAM without a region',
      { KAFKA_SASL_MECHANISM: 'AWS_MSK_IAM' },
      /AWS_MSK_IAM.*KAFKA_AWS_REGION go together/,
    ],
    [
      'extensions without tokens',
      { KAFKA_OAUTH_EXTENSIONS: 'a=b' },
      /KAFKA_OAUTH_EXTENSIONS needs OAUTHBEARER/,
    ],
    [
      'an extension that is the token',
      { ...TOKENS, KAFKA_OAUTH_EXTENSIONS: 'auth=Bearer x' },
      /give name=value/,
    ],
    ['an extension with a line end', { ...TOKENS, KAFKA_OAUTH_EXTENSIONS: 'a=b\x01c=d' }, /give name=value/],
    [
      'a secret in place of its file',
      { ...TOKENS, KAFKA_OAUTH_CLIENT_SECRET: 'hunter2' },
      /KAFKA_OAUTH_CLIENT_SECRET is a secret and is read from a file only/,
    ],
  ])('%s: a fault that names the remedy', (_, env, fault) => {
    const faults = faultsIn(env);
    expect(faults.join('\n')).toMatch(fault);
    expect(faults.join('\n')).not.toContain('hunter2');
  });
});

it.each([
  'user:hunter2@broker:9092',
  'user:hunter2,hunter2@broker:9092',
  'a:9092,user:hunter2,x@broker:9092',
])('a password in a broker’s place is not quoted: %s', (brokers) => {
  const [fault = ''] = faultsIn({ KAFKA_BROKERS: brokers });
  expect(fault).toContain('…@broker:9092');
  expect(fault).not.toContain('hunter2');
});

it('a broker may be an IPv6 address in brackets, which comes out as the clients tell of it', () => {
  const env = { KAFKA_BROKERS: '[2001:DB8:0::1]:9092,kafka-1:9092,[::1]:1' };
  const reader = envReader({ env, fileFault: () => null });
  expect(reader.read(kafkaSettings).brokers).toEqual(['[2001:db8::1]:9092', 'kafka-1:9092', '[::1]:1']);
});

it.each(['::1:9092', '2001:db8::1:9092', '[::1]', '[::1]:0', '[1::2::3]:9092', '[kafka]:9092', '[]:9092'])(
  'the broker %s is refused, and the form of an IPv6 address is shown',
  (broker) => {
    expect(faultsIn({ KAFKA_BROKERS: broker })).toEqual([
      expect.stringContaining('an IPv6 address in brackets, such as [2001:db8::1]:9092'),
    ]);
  },
);

it('a password goes to an IPv6 broker without TLS only where that is a loopback address', () => {
  const env = {
    KAFKA_SSL: 'false',
    KAFKA_SASL_MECHANISM: 'PLAIN',
    KAFKA_USERNAME: 'ann',
    KAFKA_PASSWORD_FILE: '/password',
  };
  expect(faultsIn({ ...env, KAFKA_BROKERS: '[::1]:9092' })).toEqual([]);
  expect(faultsIn({ ...env, KAFKA_BROKERS: '[2001:db8::1]:9092' })).toEqual([
    expect.stringContaining('sent to 2001:db8::1 without TLS'),
  ]);
});

it.each(['pay ments', 'ü', 'a\nb', 'x'.repeat(151), 'a/b'])(
  'TOPIC_PREFIX %j is no part of a topic name',
  (prefix) => {
    const reader = envReader({ env: { TOPIC_PREFIX: prefix }, fileFault: () => null });
    const settings = reader.read(topicSettings);
    expect(() => reader.done(settings)).toThrow('no part of a topic name');
  },
);
