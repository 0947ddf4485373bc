import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { envReader } from '../../src/config/env.ts';
import { proxySettings } from '../../src/config/proxy.ts';
import { type BehindProxy, openBehindProxy } from '../support/connect-proxy.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { serve } from '../support/serve.ts';
import { objectOf, openClient, within } from './s3-contract.ts';

let s3: ScriptedS3;
let behind: BehindProxy;
let endpoint: string;

beforeEach(async () => {
  [s3, behind] = await Promise.all([startScriptedS3(), openBehindProxy()]);
  endpoint = await behind.publish('s3', s3.endpoint);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await behind[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

/** The object store at a name that the proxy alone knows. */
const open = () => {
  const env = { HTTPS_PROXY: behind.proxy.url() };
  const proxied = envReader({ env, fileFault: () => null }).read(proxySettings);
  return openClient({ ...s3, endpoint }, { caFile: behind.caFile, ...proxied });
};

it('an object is written and read through the proxy', async () => {
  const client = await open();
  await client.replace('a.json', objectOf('{}'), within());
  expect(String(await client.read('a.json', 1_024, within()))).toBe('{}');
  expect(new Set(behind.proxy.asked)).toEqual(new Set(['s3.beyond.example:443']));
  client.close();
});

it.each(['http', 'https'])(
  'writes over %s wait for no connection of another, whatever their size',
  async (scheme) => {
    const direct = `https://127.0.0.1:${behind.proxy.hosts.get('s3.beyond.example')}`;
    const at = scheme === 'https' ? direct : s3.endpoint;
    const client = await openClient({ ...s3, endpoint: at }, { caFile: behind.caFile });
    const { promise: allHaveCome, resolve } = Promise.withResolvers<void>();
    let come = 0;
    s3.answer = async () => {
      if (++come === 60) resolve();
      await allHaveCome;
      return undefined;
    };
    // Of more than 2 MiB the SDK asks first whether it may come (Expect: 100-continue).
    const large = objectOf(JSON.stringify('x'.repeat(3 * 1024 * 1024)));
    const writes = Array.from({ length: 60 }, (_, n) =>
      client.replace(`${n}.json`, n === 0 ? large : objectOf('{}'), AbortSignal.timeout(10_000)),
    );
    expect(new Set(await Promise.all(writes))).toEqual(new Set(['created']));
    client.close();
  },
);

it('a proxy that gives no connection is told as such, and makes the store unavailable', async () => {
  const client = await open();
  behind.refuse(403);
  await expect(client.read('a.json', 1_024, within())).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(
      /of HTTPS_PROXY answered 403 to CONNECT s3.beyond.example:443: have it allow/,
    ),
  });
  behind.refuse('silent');
  await expect(client.read('a.json', 1_024, within())).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/of HTTPS_PROXY cannot be used \(no answer in time\)/),
  });
  client.close();
});

it('credentials of a web identity come through the proxy', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-sts-'));
  await using sts = await serve((_request, response) => {
    const expiration = new Date(Date.now() + 3_600_000).toISOString();
    response
      .writeHead(200, { 'content-type': 'text/xml' })
      .end(
        `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>FROM-STS</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      );
  });
  const used: string[] = [];
  s3.answer = ({ headers }) => void used.push(String(headers.authorization));
  const client = await open();
  writeFileSync(join(dir, 'token'), 'a-token');
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(dir, 'token'));
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::1:role/hookline');
  vi.stubEnv('AWS_ENDPOINT_URL_STS', await behind.publish('sts', sts.url));
  await client.replace('a.json', objectOf('{}'), within());
  expect(used).toEqual([expect.stringContaining('Credential=FROM-STS/')]);
  expect(behind.proxy.asked).toEqual(['sts.beyond.example:443', 's3.beyond.example:443']);
  client.close();
  rmSync(dir, { recursive: true });
});
