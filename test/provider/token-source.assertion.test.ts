import { generateKeyPairSync, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createAssertion } from '../../src/provider/token-source.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { providerSettingsOf } from '../support/provider-harness.ts';
import { Fixture } from '../support/topics-fixture.ts';

const BASE = {
  PROVIDER_AUTH_URL: 'https://auth.example/',
  PROVIDER_BASE_URL: 'https://api.example',
  PROVIDER_SCOPE: 'accounts.read',
};
const assertionOf = (env: Record<string, string>, newId = () => 'id') =>
  createAssertion(providerSettingsOf({ ...BASE, ...env }), newId, systemClock);

const read = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

describe('the JWT Bearer token', () => {
  it('of a file is read anew each time, without the white space around it', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const assertion = assertionOf({ PROVIDER_JWT_FILE: fixture.file('jwt', ' first \n') });
    expect(await assertion()).toBe('first');
    fixture.file('jwt', 'second');
    expect(await assertion()).toBe('second');
  });

  it('of a file that is missing or empty, as while it is replaced, is unavailable and not wrong', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const missing = assertionOf({ PROVIDER_JWT_FILE: join(fixture.dir, 'none') });
    await expect(missing()).rejects.toMatchObject({ code: 'JWT_UNAVAILABLE', retryable: true });
    const empty = assertionOf({ PROVIDER_JWT_FILE: fixture.file('empty', '\n') });
    await expect(empty()).rejects.toMatchObject({ code: 'JWT_UNAVAILABLE' });
  });

  it.each([
    ['RS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 }), {}],
    ['PS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 }), { padding: 6, saltLength: 32 }],
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), { dsaEncoding: 'ieee-p1363' }],
  ] as const)('is signed by %s so that another library verifies it', async (algorithm, makeKeys, how) => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const { privateKey, publicKey } = makeKeys();
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    let n = 0;
    const assertion = assertionOf(
      {
        PROVIDER_JWT_KEY_FILE: fixture.file('key', String(pem)),
        PROVIDER_JWT_ISSUER: 'hookline',
        PROVIDER_JWT_KEY_ID: 'key-1',
        PROVIDER_JWT_ALGORITHM: algorithm,
      },
      () => `id-${++n}`,
    );
    const jwt = await assertion();
    const [header, claims, signature] = jwt.split('.');
    const key = { key: publicKey, ...how };
    const signed = Buffer.from(`${header}.${claims}`);
    expect(verify('sha256', signed, key, Buffer.from(signature ?? '', 'base64url'))).toBe(true);
    expect(read(header)).toEqual({ alg: algorithm, typ: 'JWT', kid: 'key-1' });
    const { iat, exp, ...said } = read(claims);
    expect(said).toEqual({
      iss: 'hookline',
      sub: 'hookline',
      aud: 'https://auth.example/oauth/token',
      jti: 'id-1',
    });
    expect(exp - iat).toBe(300);
    expect(Math.abs(iat - Date.now() / 1_000)).toBeLessThan(60);
    expect(read((await assertion()).split('.')[1]).jti).toBe('id-2');
  });

  it('says whom and for whom where it is told, and has no key id unless it is told', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const { privateKey } = generateKeyPairSync('ed25519');
    const assertion = assertionOf({
      PROVIDER_JWT_KEY_FILE: fixture.file('key', String(privateKey.export({ type: 'pkcs8', format: 'pem' }))),
      PROVIDER_JWT_ALGORITHM: 'EdDSA',
      PROVIDER_JWT_ISSUER: 'hookline',
      PROVIDER_JWT_SUBJECT: 'the-api-user',
      PROVIDER_JWT_AUDIENCE: 'https://audience.example',
    });
    const [header, claims] = (await assertion()).split('.');
    expect(read(header)).toEqual({ alg: 'EdDSA', typ: 'JWT' });
    expect(read(claims)).toMatchObject({ sub: 'the-api-user', aud: 'https://audience.example' });
  });

  it('can not be signed with half a key, and the fault tells nothing of it', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const path = join(fixture.dir, 'half');
    writeFileSync(path, pem.slice(0, pem.length / 2));
    const assertion = assertionOf({
      PROVIDER_JWT_KEY_FILE: path,
      PROVIDER_JWT_ISSUER: 'hookline',
      PROVIDER_JWT_ALGORITHM: 'ES256',
    });
    const error: Error = await assertion().then(
      () => expect.fail('a JWT'),
      (failure) => failure,
    );
    expect(error).toMatchObject({ code: 'JWT_UNAVAILABLE' });
    expect(error.message).not.toContain(pem.split('\n')[1]?.slice(0, 16));
  });
});
