import { describe, expect, it } from 'vitest';
import { ConfigError, envReader, nodeSource } from '../../src/config/env.ts';
import { DEFAULT_DIALECT } from '../../src/provider/dialect.ts';
import { checkProviderSettings, providerSettings } from '../../src/provider/settings.ts';
import { Fixture } from '../support/topics-fixture.ts';

const BASE = {
  PROVIDER_AUTH_URL: 'https://auth.example/',
  PROVIDER_BASE_URL: 'https://api.example',
  PROVIDER_SCOPE: 'accounts.read',
};

/** The settings, or the faults of an environment. */
function read(env: Record<string, string>) {
  const reader = envReader(nodeSource(env));
  try {
    const settings = reader.read(providerSettings);
    checkProviderSettings(settings, reader);
    return { settings: reader.done(settings), faults: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { settings: undefined, faults: error.faults };
  }
}

describe("the provider's settings", () => {
  it('have defaults for all that the interface does not show', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    expect(read({ ...BASE, PROVIDER_JWT_FILE: fixture.file('jwt', 'x') }).settings).toMatchObject({
      authUrl: 'https://auth.example',
      grantType: 'client_credentials',
      clientAssertionType: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      jwtAlgorithm: 'RS256',
      dialect: DEFAULT_DIALECT,
    });
  });

  it('have one space between two scopes, also where the variable has more, or several lines', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const env = { ...BASE, PROVIDER_JWT_FILE: fixture.file('jwt', 'x') };
    const { settings } = read({ ...env, PROVIDER_SCOPE: ' accounts.read\n  transactions.read  x\n' });
    expect(settings?.scope).toBe('accounts.read transactions.read x');
  });

  it('name every fault at once', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const dialect = fixture.file('dialect', '{"list":{"id":"id"}}');
    const { faults } = read({
      PROVIDER_AUTH_URL: 'auth.example',
      PROVIDER_BASE_URL: 'https://user:pass@api.example',
      PROVIDER_DIALECT_FILE: dialect,
    });
    for (const said of [
      'PROVIDER_AUTH_URL is "auth.example"',
      'PROVIDER_BASE_URL carries credentials',
      'PROVIDER_SCOPE is not set',
      `PROVIDER_DIALECT_FILE (${dialect}): list.id must be a JSON pointer`,
      'Set one of PROVIDER_JWT_FILE',
    ])
      expect(faults).toContainEqual(expect.stringContaining(said));
  });

  it('say of a dialect that cannot be read what to do', () => {
    expect(read({ ...BASE, PROVIDER_DIALECT_FILE: '/nowhere/dialect.json' }).faults).toContain(
      'PROVIDER_DIALECT_FILE names "/nowhere/dialect.json", which can\'t be read (ENOENT): mount it there or correct the path.',
    );
  });

  it('say of a JWT that cannot be read only that', () => {
    expect(read({ ...BASE, PROVIDER_JWT_FILE: '/nowhere/jwt' }).faults).toEqual([
      expect.stringContaining('PROVIDER_JWT_FILE names "/nowhere/jwt", which can\'t be read'),
    ]);
  });

  it('want one way to a JWT, and an issuer where one is signed', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const PROVIDER_JWT_FILE = fixture.file('jwt', 'x');
    const PROVIDER_JWT_KEY_FILE = fixture.file('key', 'x');
    expect(
      read({ ...BASE, PROVIDER_JWT_FILE, PROVIDER_JWT_KEY_FILE, PROVIDER_JWT_ISSUER: 'h' }).faults,
    ).toEqual([expect.stringContaining('Set one of PROVIDER_JWT_FILE')]);
    expect(read({ ...BASE, PROVIDER_JWT_KEY_FILE }).faults).toEqual([
      expect.stringContaining('PROVIDER_JWT_KEY_FILE needs PROVIDER_JWT_ISSUER'),
    ]);
  });

  it('want a client certificate and its key together', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const jwt = fixture.file('jwt', 'x');
    const cert = fixture.file('cert', 'x');
    const { faults } = read({ ...BASE, PROVIDER_JWT_FILE: jwt, PROVIDER_CERT_FILE: cert });
    expect(faults).toEqual([expect.stringContaining('PROVIDER_CERT_FILE and PROVIDER_KEY_FILE go together')]);
  });

  it('name a file that is not there', () => {
    expect(read({ ...BASE, PROVIDER_JWT_FILE: '/nowhere/jwt' }).faults).toContainEqual(
      expect.stringContaining('"/nowhere/jwt", which can\'t be read (ENOENT)'),
    );
  });
});
