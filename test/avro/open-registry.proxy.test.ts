import { expect, it } from 'vitest';
import { openRegistry } from '../../src/avro/open-registry.ts';
import { registrySettings } from '../../src/avro/registry-settings.ts';
import { envReader } from '../../src/config/env.ts';
import { systemClock as clock } from '../../src/runtime/clock.ts';
import { openBehindProxy } from '../support/connect-proxy.ts';
import { serve } from '../support/serve.ts';
import { until } from '../support/until.ts';

const files = { renewed() {}, unusable() {} };

it('the registry and its access tokens are reached through the proxy, and the proxy is named where they are not', async () => {
  await using behind = await openBehindProxy();
  await using issuer = await serve((_request, response) =>
    response.end(JSON.stringify({ access_token: 'a-token', token_type: 'Bearer', expires_in: 3_600 })),
  );
  const shown: (string | undefined)[] = [];
  await using server = await serve(({ headers, url }, response) => {
    shown.push(headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(url?.endsWith('/subjects') ? '["payments.a-value"]' : '{"id":7,"version":1,"schema":"{}"}');
  });
  const env = {
    SCHEMA_REGISTRY_URL: await behind.publish('registry', `${server.url}/apis/ccompat/v7`),
    SCHEMA_REGISTRY_CA_FILE: behind.caFile,
    SCHEMA_REGISTRY_OAUTH_TOKEN_URL: await behind.publish('login', `${issuer.url}/token`),
    SCHEMA_REGISTRY_OAUTH_CA_FILE: behind.caFile,
    SCHEMA_REGISTRY_OAUTH_CLIENT_ID: 'hookline',
    SCHEMA_REGISTRY_OAUTH_CLIENT_SECRET_FILE: behind.caFile,
    HTTPS_PROXY: behind.proxy.url(),
  };
  const settings = envReader({ env, fileFault: () => null }).read(registrySettings);
  const registry = openRegistry(settings, { files, clock });
  expect(await registry.subjects()).toEqual(['payments.a-value']);
  expect(await registry.idOf('payments.a-value', '"string"')).toBe(7);
  expect(shown).toEqual(['Bearer a-token', 'Bearer a-token']);
  expect(behind.proxy.asked).toContain('login.beyond.example:443');
  expect(behind.proxy.asked).toContain('registry.beyond.example:443');
  behind.refuse(407);
  await until('the connections are closed', () => behind.proxy.open === 0);
  for (const ask of [() => registry.subjects(), () => registry.idOf('payments.b-value', '"int"')])
    await expect(ask()).rejects.toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
      message: expect.stringMatching(
        /of HTTPS_PROXY answered 407 to CONNECT registry.beyond.example:443: write user:password@/,
      ),
    });
  const others = openRegistry(settings, { files, clock });
  await expect(others.subjects()).rejects.toMatchObject({
    code: 'REGISTRY_UNAVAILABLE',
    message: expect.stringMatching(
      /login.beyond.example.*of HTTPS_PROXY answered 407 to CONNECT login.beyond.example:443/,
    ),
  });
});
