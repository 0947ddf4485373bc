import { describe, expect, it } from 'vitest';
import { isLoopback } from '../../src/config/plaintext-credentials.ts';
import { loadControlConfig } from '../../src/control/config.ts';
import { loadIngressConfig } from '../../src/ingress/settings.ts';
import { faultsOf } from '../support/faults-of.ts';

describe('a loopback address', () => {
  it.each(['127.0.0.1', '127.255.0.9', '::1', '[::1]', '0:0:0:0:0:0:0:1', 'localhost', 'LOCALHOST'])(
    'is %s',
    (host) => expect(isLoopback(host)).toBe(true),
  );

  it.each([
    ...['128.0.0.1', '0.0.0.0', '10.0.0.1', '::2', '::', 'kafka', 'localhost.example.org', ''],
    // Names that only begin like one, and a number that some resolvers read as an address.
    ...['127.0.0.1.example.org', '2130706433', 'localhosts'],
  ])('is not %j', (host) => expect(isLoopback(host)).toBe(false));
});

const FILES = { KAFKA_PASSWORD_FILE: '/f', SCHEMA_REGISTRY_PASSWORD_FILE: '/f', PROVIDER_JWT_FILE: '/f' };
const REMOTE = {
  KAFKA_BROKERS: '127.0.0.1:9092,kafka-1:9092,10.0.0.2:9092',
  KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
  KAFKA_USERNAME: 'ann',
  SCHEMA_REGISTRY_URL: 'http://registry:8081',
  SCHEMA_REGISTRY_USERNAME: 'ann',
  PROVIDER_AUTH_URL: 'http://auth.example.org',
  PROVIDER_BASE_URL: 'HTTP://api.example.org:8090/v1',
  PROVIDER_SCOPE: 'accounts.read',
  PUBLIC_URL: 'http://hookline.example.org',
  SEALING_KEY_FILE: '/f',
  ...FILES,
};

const OVER_TLS = {
  KAFKA_SSL: 'true',
  SCHEMA_REGISTRY_URL: 'https://registry:8081',
  PROVIDER_AUTH_URL: 'https://auth.example.org',
  PROVIDER_BASE_URL: 'https://api.example.org',
};

/** The faults of an environment whose files can all be read. */
const faultsIn = (load: typeof loadControlConfig | typeof loadIngressConfig, env: Record<string, string>) =>
  faultsOf(() => load({ env, fileFault: () => null }));

describe('credentials that would travel without TLS', () => {
  it('are refused by control: all faults at once, each with the variable, the host and the remedy', () => {
    const fault = (variable: string, what: string, hosts: string, remedy: string) =>
      `${variable} would have ${what} sent to ${hosts} without TLS. ${remedy}, or set ALLOW_PLAINTEXT_CREDENTIALS to true where nobody else can read that network.`;
    const https = (variable: string) => `Give an https address in ${variable}`;
    expect(faultsIn(loadControlConfig, REMOTE)).toEqual([
      fault('KAFKA_BROKERS', 'the password of KAFKA_USERNAME', 'kafka-1, 10.0.0.2', 'Set KAFKA_SSL to true'),
      fault(
        'SCHEMA_REGISTRY_URL',
        'the password of SCHEMA_REGISTRY_USERNAME',
        'registry',
        https('SCHEMA_REGISTRY_URL'),
      ),
      fault('PROVIDER_AUTH_URL', 'the JWT', 'auth.example.org', https('PROVIDER_AUTH_URL')),
      fault('PROVIDER_BASE_URL', 'access tokens', 'api.example.org', https('PROVIDER_BASE_URL')),
    ]);
  });

  it('are refused by ingress, which has none of the provider', () => {
    const faults = faultsIn(loadIngressConfig, REMOTE);
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual(['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL']);
  });

  it.each(['BODY_STORE_ENDPOINT', 'AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL_STS', 'AWS_ENDPOINT_URL'])(
    'are refused to the object store and what belongs to it, where %s says so',
    (variable) => {
      const others = {
        BODY_STORE_ENDPOINT: 'https://store',
        AWS_ENDPOINT_URL_S3: 'https://s3',
        AWS_ENDPOINT_URL_STS: 'https://sts',
        AWS_ENDPOINT_URL: 'https://aws',
      };
      const env = { ...REMOTE, ...OVER_TLS, BODY_STORE: 's3://bucket', ...others };
      const faults = (more: Record<string, string>) => faultsIn(loadIngressConfig, { ...env, ...more });
      const plain = { [variable]: 'http://store:9000' };
      expect(faults(plain)).toEqual([
        expect.stringMatching(`^${variable} would have signed requests and .* sent to store without TLS`),
      ]);
      expect(faults({})).toEqual([]);
      const ignored = faults({ ...plain, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' });
      expect(ignored).toHaveLength(variable === 'BODY_STORE_ENDPOINT' ? 1 : 0);
    },
  );

  it("are not the matter of AWS's variables where there is no object store, nor what is wrong with them", () => {
    const env = { ...REMOTE, ...OVER_TLS, AWS_ENDPOINT_URL: 'http://localstack:4566' };
    expect(faultsIn(loadIngressConfig, env)).toEqual([]);
    expect(faultsIn(loadIngressConfig, { ...env, AWS_ENDPOINT_URL: 'no address' })).toEqual([]);
  });

  it.each<[string, Record<string, string>]>([
    ['where that is allowed', { ALLOW_PLAINTEXT_CREDENTIALS: 'true' }],
    ['over TLS', OVER_TLS],
    [
      'to this host',
      {
        KAFKA_BROKERS: 'localhost:9092,127.0.0.2:9092',
        SCHEMA_REGISTRY_URL: 'http://[::1]:8081',
        PROVIDER_AUTH_URL: 'http://localhost:8090',
        PROVIDER_BASE_URL: 'http://127.0.0.1:8090',
      },
    ],
  ])('are sent %s', (_, env) => {
    expect(faultsIn(loadControlConfig, { ...REMOTE, ...env })).toEqual([]);
  });

  it('are none where Kafka and the registry have none', () => {
    const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, SEALING_KEY_FILE } = REMOTE;
    const env = { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, SEALING_KEY_FILE };
    expect(faultsIn(loadIngressConfig, env)).toEqual([]);
  });
});
