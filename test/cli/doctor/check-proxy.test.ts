import { expect, it } from 'vitest';
import { checkProxy } from '../../../src/cli/doctor/check-proxy.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { openBehindProxy } from '../../support/connect-proxy.ts';
import { serve } from '../../support/serve.ts';

const check = (env: Record<string, string>) =>
  checkProxy({
    source: nodeSource({ KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://registry', ...env }),
    print() {},
    write: async () => {},
    note() {},
    signal: new AbortController().signal,
  });

it('says that there is no proxy, or that it is not used', async () => {
  expect(await check({})).toMatchObject([{ check: 'proxy', state: 'skipped' }]);
  expect(await check({ HTTPS_PROXY: 'http://proxy.invalid' })).toMatchObject([
    { state: 'ok', finding: expect.stringContaining('is not used') },
  ]);
});

it('asks the proxy for each https address but that of a bucket, and names those that are reached directly', async () => {
  await using behind = await openBehindProxy();
  await using server = await serve((_request, response) => response.end());
  const url = await behind.publish('api', server.url);
  const findings = await check({
    HTTPS_PROXY: behind.proxy.url('hookline:correct-horse@'),
    NO_PROXY: 'registry.example.org',
    SCHEMA_REGISTRY_URL: 'https://registry.example.org',
    PROVIDER_AUTH_URL: 'https://unknown.beyond.example',
    PROVIDER_BASE_URL: url,
    BODY_STORE: 's3://events',
  });
  expect(findings).toMatchObject([
    { state: 'ok', finding: expect.stringContaining('BODY_STORE') },
    {
      state: 'FAULT',
      finding: expect.stringMatching(
        /^PROVIDER_AUTH_URL: .* answered 502 to CONNECT unknown.beyond.example:443$/,
      ),
      remedy: expect.stringContaining('NO_PROXY'),
    },
    { state: 'ok', finding: expect.stringContaining('api.beyond.example:443 (PROVIDER_BASE_URL)') },
    { state: 'ok', finding: 'not used for SCHEMA_REGISTRY_URL' },
  ]);
  expect(JSON.stringify(findings)).not.toContain('horse');
  expect(behind.proxy.asked.toSorted()).toEqual(['api.beyond.example:443', 'unknown.beyond.example:443']);
});
