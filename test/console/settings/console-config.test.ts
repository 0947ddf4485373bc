import { describe, expect, it } from 'vitest';
import { nodeSource } from '../../../src/config/env.ts';
import { loadConsoleConfig } from '../../../src/console/settings/console-config.ts';
import { faultsOf } from '../../support/faults-of.ts';

const REACHED = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };

const load = (env: Record<string, string>) => loadConsoleConfig(nodeSource({ ...REACHED, ...env })).console;

const faultsIn = (env: Record<string, string>) => faultsOf(() => load(env));

describe('who may reach the console', () => {
  it('listens on loopback by default, where nobody logs in', () => {
    expect(load({})).toMatchObject({ host: '127.0.0.1', port: 8070, roles: [] });
  });

  it('listens elsewhere only with a login', () => {
    expect(faultsIn({ CONSOLE_HOST: '0.0.0.0' })).toEqual([
      expect.stringMatching(
        /^CONSOLE_HOST is "0\.0\.0\.0", and nobody would have to log in: set CONSOLE_OIDC_ISSUER/,
      ),
    ]);
  });

  it('needs all of OpenID Connect, and roles', () => {
    expect(faultsIn({ CONSOLE_OIDC_ISSUER: 'https://id.example' })).toEqual([
      'CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET_FILE must be set too: OpenID Connect needs all three.',
    ]);
    const whole = {
      CONSOLE_OIDC_ISSUER: 'https://id.example',
      CONSOLE_OIDC_CLIENT_ID: 'c',
      CONSOLE_OIDC_CLIENT_SECRET_FILE: 'package.json',
    };
    expect(faultsIn(whole)).toEqual([expect.stringContaining('CONSOLE_ROLES is empty')]);
    expect(faultsIn({ ...whole, CONSOLE_ROLES: '*=view' })).toEqual([]);
  });

  it.each([
    [{}, true],
    [{ CONSOLE_PUBLIC_URL: 'http://console.example' }, true],
    [{ CONSOLE_PUBLIC_URL: 'http://127.0.0.1:8070' }, false],
    [{ CONSOLE_PUBLIC_URL: 'https://console.example' }, false],
    [{ ALLOW_PLAINTEXT_CREDENTIALS: 'true' }, false],
  ])('sends no session without TLS: %j', (env, isRefused) => {
    const faults = faultsIn({
      CONSOLE_OIDC_ISSUER: 'https://id.example',
      CONSOLE_OIDC_CLIENT_ID: 'c',
      CONSOLE_OIDC_CLIENT_SECRET_FILE: 'package.json',
      CONSOLE_ROLES: '*=view',
      CONSOLE_HOST: '0.0.0.0',
      ...env,
    });
    const refused = expect.stringContaining('CONSOLE_PUBLIC_URL must be the https address of the console');
    expect(faults).toEqual(isRefused ? [refused] : []);
  });

  it('has no path before its own', () => {
    expect(faultsIn({ CONSOLE_PUBLIC_URL: 'https://ops.example/hookline/' })).toEqual([
      expect.stringContaining('CONSOLE_PUBLIC_URL has the path /hookline'),
    ]);
  });

  it('sends the client secret by TLS, and takes no secret from the environment', () => {
    const env = {
      CONSOLE_OIDC_ISSUER: 'http://id.example',
      CONSOLE_OIDC_CLIENT_ID: 'c',
      CONSOLE_OIDC_CLIENT_SECRET_FILE: 'package.json',
      CONSOLE_ROLES: '*=view',
    };
    expect(faultsIn(env)).toEqual([
      expect.stringMatching(
        /^CONSOLE_OIDC_ISSUER would have the console's client secret sent to id\.example/,
      ),
    ]);
    expect(faultsIn({ CONSOLE_OIDC_CLIENT_SECRET: 'x' })).toEqual([
      expect.stringContaining('is read from a file only'),
    ]);
  });

  it('believes a header of known proxies alone', () => {
    const header = { CONSOLE_USER_HEADER: 'X-User', CONSOLE_ROLES: '*=view', CONSOLE_HOST: '0.0.0.0' };
    expect(faultsIn(header)).toEqual([
      expect.stringMatching(/^CONSOLE_USER_HEADER needs CONSOLE_TRUSTED_PROXIES/),
    ]);
    expect(faultsIn({ ...header, CONSOLE_TRUSTED_PROXIES: '10.0.0.0/8' })).toEqual([]);
    expect(faultsIn({ CONSOLE_GROUPS_HEADER: 'X-Groups' })).toEqual([
      'CONSOLE_GROUPS_HEADER needs CONSOLE_USER_HEADER.',
    ]);
  });

  it('reports all faults at once', () => {
    const faults = faultsIn({
      CONSOLE_HOST: '0.0.0.0',
      CONSOLE_PORT: 'x',
      CONSOLE_ROLES: 'a=root',
      CONSOLE_TARGETS: 'ftp://x',
      KAFKA_BROKERS: '',
    });
    expect(faults.map((fault) => fault.split(' ', 1)[0]).sort()).toEqual([
      'CONSOLE_HOST',
      'CONSOLE_PORT',
      'CONSOLE_ROLES',
      'CONSOLE_TARGETS',
      'KAFKA_BROKERS',
    ]);
  });
});

it('reads groups whose names have equals signs and commas', () => {
  const { roles } = load({ CONSOLE_ROLES: 'cn=oncall%2Cou=payments=operate, *=view' });
  expect(roles).toEqual([
    { group: 'cn=oncall,ou=payments', role: 'operate' },
    { group: '*', role: 'view' },
  ]);
});

const PASSWORD = { KAFKA_SSL: 'true', KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_USERNAME: 'u' };
const TOKENS = { KAFKA_SSL: 'true', KAFKA_SASL_MECHANISM: 'OAUTHBEARER' };
const CLIENT = { KAFKA_OAUTH_TOKEN_URL: 'https://id.example', KAFKA_OAUTH_CLIENT_ID: 'c' };
const REGISTRY = { SCHEMA_REGISTRY_URL: 'https://registry.example' };
const LOGIN = {
  CONSOLE_HOST: '0.0.0.0',
  CONSOLE_PUBLIC_URL: 'https://console.example',
  CONSOLE_ROLES: '*=view',
  CONSOLE_OIDC_ISSUER: 'https://id.example',
  CONSOLE_OIDC_CLIENT_ID: 'c',
};

it.each<[string, Record<string, string>]>([
  ['KAFKA_PASSWORD_FILE', PASSWORD],
  ['KAFKA_OAUTH_TOKEN_FILE', TOKENS],
  ['KAFKA_OAUTH_CLIENT_SECRET_FILE', { ...TOKENS, ...CLIENT }],
  ['SCHEMA_REGISTRY_PASSWORD_FILE', { ...REGISTRY, SCHEMA_REGISTRY_USERNAME: 'u' }],
  ['SCHEMA_REGISTRY_CERT_FILE', { ...REGISTRY, SCHEMA_REGISTRY_KEY_FILE: 'package.json' }],
  ['CONSOLE_OIDC_CLIENT_SECRET_FILE', LOGIN],
])('says of %s that it cannot be read, and not also that it is unset', (name, env) => {
  expect(faultsIn({ ...env, [name]: '/nowhere/file' })).toEqual([
    expect.stringContaining(`${name} names "/nowhere/file", which can't be read`),
  ]);
  expect(faultsIn(env)).not.toEqual([]);
});

it.each<[string, string, Record<string, string>]>([
  ['BODY_STORE', 's4://events', { BODY_STORE_REGION: 'eu-central-1' }],
  ['KAFKA_SSL', 'yes', { KAFKA_CA_FILE: 'package.json' }],
  ['KAFKA_SASL_MECHANISM', 'MSK', { KAFKA_AWS_REGION: 'eu-central-1' }],
  ['KAFKA_SASL_MECHANISM', 'OAUTH', { KAFKA_OAUTH_EXTENSIONS: 'cluster=a' }],
  ['SCHEMA_REGISTRY_OAUTH_TOKEN_URL', 'login', { ...REGISTRY, SCHEMA_REGISTRY_OAUTH_SCOPE: 'a' }],
  ['CONSOLE_TRUSTED_PROXIES', 'proxy', { CONSOLE_USER_HEADER: 'x-user', CONSOLE_ROLES: '*=view' }],
  ['CONSOLE_USER_HEADER', 'x user', { CONSOLE_HOST: '0.0.0.0' }],
  ['CONSOLE_PUBLIC_URL', 'here', { ...LOGIN, CONSOLE_OIDC_CLIENT_SECRET_FILE: 'package.json' }],
])('says that %s is not %s, and not also what it would be needed for', (name, value, env) => {
  expect(faultsIn({ ...env, [name]: value })).toEqual([expect.stringMatching(`^${name} `)]);
  const { [name]: _, ...without } = env;
  expect(faultsIn(without)).not.toEqual([]);
});

it('names a misspelt variable beside the fault of the one that was meant', () => {
  const env = { KAFKA_BROKER: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };
  expect(() => loadConsoleConfig(nodeSource(env))).toThrow(
    /KAFKA_BROKERS is not set.*KAFKA_BROKER is not a setting and is not read/s,
  );
});

it('takes no command topic that Hookline writes itself', () => {
  expect(faultsIn({ COMMAND_TOPICS: 'payments.commands,ledger.commands' })).toEqual([]);
  expect(faultsIn({ COMMAND_TOPICS: 'payments.commands,payments.payment-status' })).toEqual([
    'COMMAND_TOPICS names payments.payment-status, which Hookline writes: give another topic.',
  ]);
});
