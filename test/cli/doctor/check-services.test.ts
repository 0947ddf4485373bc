import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { checkClock } from '../../../src/cli/doctor/check-services.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { makeAuthority } from '../../support/secure/certificates.ts';
import { serve } from '../../support/serve.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-clock-'));
afterAll(() => rmSync(dir, { recursive: true }));
afterEach(() => vi.useRealTimers());

const check = (env: Record<string, string>) =>
  checkClock({
    source: nodeSource(env),
    print() {},
    write: async () => {},
    note() {},
    signal: new AbortController().signal,
  });

it('compares the clock with a registry whose private authority is named', async () => {
  const authority = makeAuthority(dir, 'authority');
  const { certFile, keyFile } = authority.issue('server', 'IP:127.0.0.1');
  const pem = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createServer(pem, (_, response) => response.end('[]')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const env = {
      SCHEMA_REGISTRY_URL: `https://127.0.0.1:${port}`,
      SCHEMA_REGISTRY_CA_FILE: authority.caFile,
    };
    expect(await check(env)).toMatchObject([{ check: 'clock', state: 'ok' }]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it.each<[string, (response: ServerResponse) => void, object]>([
  ['also where it refuses the credentials', (response) => response.writeHead(401).end(), { state: 'ok' }],
  [
    'also where its list of subjects is larger than what is read of an answer',
    (response) => response.end(response.req.url === '/subjects' ? 'x'.repeat(5_000_000) : '[]'),
    { state: 'ok' },
  ],
  [
    'also where it answers late',
    (response) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 14_000 });
      response.setHeader('date', new Date().toUTCString()).end('[]');
    },
    { state: 'ok' },
  ],
  [
    'and warns where it is another one',
    (response) => response.setHeader('date', new Date(Date.now() - 60_500).toUTCString()).end('[]'),
    { state: 'warning', finding: expect.stringMatching(/by (59|60|61) s$/) },
  ],
  [
    'not where it sends no Date header',
    (response) => {
      response.sendDate = false;
      response.end('[]');
    },
    { state: 'skipped', finding: 'the registry sends no Date header' },
  ],
  [
    'not where it does not answer',
    (response) => response.destroy(),
    { state: 'skipped', finding: 'the registry does not answer' },
  ],
])('compares the clock with that of the registry, %s', async (_, answer, finding) => {
  await using registry = await serve((_request, response) => answer(response));
  expect(await check({ SCHEMA_REGISTRY_URL: registry.url })).toMatchObject([{ check: 'clock', ...finding }]);
});
