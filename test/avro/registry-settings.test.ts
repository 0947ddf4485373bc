import { describe, expect, it } from 'vitest';
import { checkRegistrySettings, registrySettings } from '../../src/avro/registry-settings.ts';
import { ConfigError, envReader } from '../../src/config/env.ts';

type Env = Record<string, string>;

function read(env: Env) {
  const reader = envReader({
    env: { SCHEMA_REGISTRY_URL: 'https://registry.example', ...env },
    fileFault: () => null,
  });
  const settings = reader.read(registrySettings);
  checkRegistrySettings(settings, reader);
  try {
    return { settings: reader.done(settings), faults: '' };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { settings: undefined, faults: error.faults.join('\n') };
  }
}

const CLIENT = {
  SCHEMA_REGISTRY_OAUTH_TOKEN_URL: 'https://idp.example/token',
  SCHEMA_REGISTRY_OAUTH_CLIENT_ID: 'hookline',
  SCHEMA_REGISTRY_OAUTH_CLIENT_SECRET_FILE: '/secret',
};

describe("the registry's settings", () => {
  it('have headers by name, beside a token and a client certificate', () => {
    const { settings, faults } = read({
      ...CLIENT,
      SCHEMA_REGISTRY_HEADERS: 'target-sr-cluster=lsrc-1, Confluent-Identity-Pool-Id=pool-1',
      SCHEMA_REGISTRY_CERT_FILE: '/cert',
      SCHEMA_REGISTRY_KEY_FILE: '/key',
    });
    expect([faults, settings?.headers]).toEqual([
      '',
      [
        ['target-sr-cluster', 'lsrc-1'],
        ['Confluent-Identity-Pool-Id', 'pool-1'],
      ],
    ]);
  });

  it.each<[string, Env, RegExp]>([
    [
      'two ways to log in',
      { ...CLIENT, SCHEMA_REGISTRY_TOKEN_FILE: '/token' },
      /Set one of SCHEMA_REGISTRY_USERNAME/,
    ],
    [
      'a certificate without its key',
      { SCHEMA_REGISTRY_CERT_FILE: '/cert' },
      /SCHEMA_REGISTRY_KEY_FILE go together/,
    ],
    [
      'a certificate without TLS',
      {
        SCHEMA_REGISTRY_URL: 'http://127.0.0.1',
        SCHEMA_REGISTRY_CERT_FILE: '/c',
        SCHEMA_REGISTRY_KEY_FILE: '/k',
      },
      /need an https address in SCHEMA_REGISTRY_URL/,
    ],
    [
      'a token without TLS',
      { SCHEMA_REGISTRY_URL: 'http://registry.example', SCHEMA_REGISTRY_TOKEN_FILE: '/token' },
      /access tokens sent to registry.example without TLS/,
    ],
    [
      'a header that is a credential',
      { SCHEMA_REGISTRY_HEADERS: 'Authorization=Bearer hunter2' },
      /read from files/,
    ],
    [
      'a header of HTTP itself',
      { SCHEMA_REGISTRY_HEADERS: 'Host=other' },
      /header Host, which Hookline itself/,
    ],
    [
      'a header whose value may be a secret',
      { SCHEMA_REGISTRY_HEADERS: 'X-Api-Key: hunter2' },
      /begins with "X-Api-Key"/,
    ],
    ['a header that is none', { SCHEMA_REGISTRY_HEADERS: 'no header' }, /give name=value/],
    ['a header with a line end', { SCHEMA_REGISTRY_HEADERS: 'a=b\r\nc: d' }, /give name=value/],
  ])('refuse %s, and name the remedy', (_, env, fault) => {
    const { faults } = read(env);
    expect(faults).toMatch(fault);
    expect(faults).not.toContain('hunter2');
  });
});
