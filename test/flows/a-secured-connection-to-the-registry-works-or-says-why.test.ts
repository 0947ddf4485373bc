import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openRegistry } from '../../src/avro/open-registry.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { registrySettingsWith } from '../support/connection-settings.ts';
import { type Authority, type Identity, makeAuthority } from '../support/secure/certificates.ts';
import { findings } from '../support/secure/secure-fixture.ts';
import { type SecureRegistry, startSecureRegistry } from '../support/secure/secure-registry.ts';
import { Fixture } from '../support/topics-fixture.ts';

type Env = Record<string, string | undefined>;

const HERE = 'DNS:localhost,IP:127.0.0.1';
const PASSWORD = 'correct-horse-battery';
const dir = mkdtempSync(join(tmpdir(), 'hookline-registry-'));
let authority: Authority;
let stranger: Authority;
let server: Identity;
let registry: SecureRegistry;
let fixture: Fixture;

beforeAll(async () => {
  authority = makeAuthority(dir, 'authority');
  stranger = makeAuthority(dir, 'stranger');
  server = authority.issue('server', HERE);
  registry = await startSecureRegistry(inject('registryUrl'), server);
  registry.allow('ann', PASSWORD);
  fixture = new Fixture({ brokers: inject('brokers'), registryUrl: registry.url });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const env = (changes: Env = {}): Env => ({
  ...fixture.env,
  SCHEMA_REGISTRY_USERNAME: 'ann',
  SCHEMA_REGISTRY_PASSWORD_FILE: fixture.file('password', `${PASSWORD}\n`),
  SCHEMA_REGISTRY_CA_FILE: authority.caFile,
  ...changes,
});

const found = async (changes?: Env) =>
  (await findings(env(changes))).find(({ check }) => check === 'registry');

describe('the registry behind TLS and a password', () => {
  it('is asked', async () => {
    expect(await found()).toMatchObject({ state: 'ok' });
  });

  it.each<[string, () => Env, RegExp, string]>([
    [
      'a wrong password',
      () => ({ SCHEMA_REGISTRY_PASSWORD_FILE: fixture.file('wrong', 'wrong-horse-battery') }),
      /refuses the credentials.*answered 401/,
      'SCHEMA_REGISTRY_PASSWORD_FILE',
    ],
    [
      'no user',
      () => ({ SCHEMA_REGISTRY_USERNAME: undefined, SCHEMA_REGISTRY_PASSWORD_FILE: undefined }),
      /answered 401/,
      'set SCHEMA_REGISTRY_USERNAME',
    ],
    [
      'an authority that is not trusted',
      () => ({ SCHEMA_REGISTRY_CA_FILE: stranger.caFile }),
      /authority that isn't trusted/,
      'SCHEMA_REGISTRY_CA_FILE',
    ],
    [
      'https to a port without TLS',
      () => ({ SCHEMA_REGISTRY_URL: inject('registryUrl').replace('http:', 'https:') }),
      /no TLS is spoken there/,
      'SCHEMA_REGISTRY_URL',
    ],
    [
      'http to a port with TLS',
      () => ({
        SCHEMA_REGISTRY_URL: registry.url.replace('https:', 'http:'),
        SCHEMA_REGISTRY_CA_FILE: undefined,
      }),
      /close the connection|hang up/,
      'SCHEMA_REGISTRY_URL',
    ],
    [
      'an unknown host name',
      () => ({ SCHEMA_REGISTRY_URL: 'https://nowhere.invalid' }),
      /host name is unknown/,
      'SCHEMA_REGISTRY_URL',
    ],
  ])('%s is named with its remedy, never with the password', async (_, changes, finding, remedy) => {
    const fault = await found(changes());
    expect(fault).toMatchObject({ state: 'FAULT', finding: expect.stringMatching(finding) });
    expect(fault?.remedy).toContain(remedy);
    expect(JSON.stringify(fault)).not.toContain('horse-battery');
  });

  it.each<[string, string, number | undefined, RegExp]>([
    ['has expired', HERE, -1, /registry has expired/],
    ["is another host's", 'DNS:registry.example.org', undefined, /for other host names/],
  ])('says it where its certificate %s', async (name, names, days, finding) => {
    registry.show(authority.issue(name.replaceAll(/\W/g, '-'), names, days));
    expect(await found()).toMatchObject({ state: 'FAULT', finding: expect.stringMatching(finding) });
    registry.show(server);
  });

  it('is asked with the password and the authority as their files are then', async () => {
    const passwordFile = fixture.file('renewed-password', PASSWORD);
    const caFile = join(fixture.dir, 'renewed-ca');
    copyFileSync(authority.caFile, caFile);
    const told: string[] = [];
    const { subjects } = openRegistry(
      registrySettingsWith({ url: registry.url, username: 'ann', passwordFile, caFile }),
      {
        files: { renewed: () => told.push('renewed'), unusable: ({ message }) => told.push(message) },
        clock: systemClock,
      },
    );
    expect(await subjects()).toEqual(expect.any(Array));
    registry.allow('ann', 'renewed-horse-battery');
    registry.show(stranger.issue('renewed-server', HERE));
    await expect(subjects()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    copyFileSync(stranger.caFile, caFile);
    await expect(subjects()).rejects.toMatchObject({ code: 'REGISTRY_REFUSED' });
    writeFileSync(passwordFile, 'renewed-horse-battery\n');
    expect(await subjects()).toEqual(expect.any(Array));
    writeFileSync(passwordFile, '');
    expect(await subjects()).toEqual(expect.any(Array));
    expect(told).toEqual(['renewed', 'renewed', expect.stringContaining('SCHEMA_REGISTRY_PASSWORD_FILE')]);
    registry.show(server);
    registry.allow('ann', PASSWORD);
  });
});
