import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { selfSigned } from '../../support/certificates.ts';
import { ROOT } from '../../support/source-tree.ts';

/** What `helm test` finds of the way to ingress. Of the pods it finds none here, and says so too. */
async function faultsOf(env: Record<string, string>): Promise<string[]> {
  const program = readFileSync(join(ROOT, 'deploy/helm/hookline/files/helm-test.mjs'), 'utf8');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: {
      ...process.env,
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      READY_HOSTS: 'no-pods.invalid',
      CONNECT_MS: '0',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = await text(child.stderr);
  return said.split('\n').filter((line) => /ingress|webhook|console|Error/.test(line));
}

async function at<S extends Server | ReturnType<typeof createHttpsServer>>(
  server: S,
  ask: (port: number) => Promise<string[]>,
): Promise<string[]> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await ask((server.address() as { port: number }).port);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const answering =
  (status: number): RequestListener =>
  (_, response) =>
    response.writeHead(status).end();

it('an ingress has to refuse what nobody signed, and to be there', async () => {
  const ask = (port: number) => faultsOf({ WEBHOOKS_URL: `http://127.0.0.1:${port}` });
  expect(await at(createHttpServer(answering(401)), ask)).toEqual([]);
  expect(await at(createHttpServer(answering(200)), ask)).toEqual([
    'an unsigned webhook was answered 200, not 401',
  ]);
  expect(await ask(9)).toEqual([expect.stringContaining('not at all')]);
});

it('says which of them gives no answer', async () => {
  const closed = await at(createHttpServer(), async (port) => [`127.0.0.1:${port}`]);
  const ask = (port: number) =>
    faultsOf({ WEBHOOKS_URL: `http://127.0.0.1:${port}`, CONSOLE_URL: `http://${closed}` });
  expect(await at(createHttpServer(answering(401)), ask)).toEqual([
    `the console: not at all: connect ECONNREFUSED ${closed}`,
    `the console answered not at all: connect ECONNREFUSED ${closed} to nobody`,
  ]);
});

it('connects again where a network policy does not know its pod yet', async () => {
  const free = await at(createHttpServer(), async (port) => [String(port)]);
  const faults = faultsOf({ WEBHOOKS_URL: `http://127.0.0.1:${free}`, CONNECT_MS: '10000' });
  await sleep(1_000);
  await using server = createHttpServer(answering(401)).listen(Number(free), '127.0.0.1');
  expect(await faults, String(server.listening)).toEqual([]);
});

it('connects again with mutual TLS too', async () => {
  const free = await at(createHttpServer(), async (port) => [String(port)]);
  const faults = faultsOf({
    WEBHOOKS_URL: `https://127.0.0.1:${free}`,
    NEEDS_CERTIFICATE: '1',
    CONNECT_MS: '10000',
  });
  await sleep(1_000);
  using files = selfSigned();
  const [cert, key] = [files.certFile, files.keyFile].map((path) => readFileSync(path));
  const tls = { cert, key, requestCert: true, rejectUnauthorized: true };
  await using server = createHttpsServer(tls).listen(Number(free), '127.0.0.1');
  expect(await faults, String(server.listening)).toEqual([]);
});

it.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'with mutual TLS it has to begin TLS and answer nothing (%s)',
  async (version) => {
    using files = selfSigned();
    const [cert, key] = [files.certFile, files.keyFile].map((path) => readFileSync(path));
    const tls = { cert, key, minVersion: version, maxVersion: version, rejectUnauthorized: true, ca: cert };
    const ask = (port: number) =>
      faultsOf({ WEBHOOKS_URL: `https://127.0.0.1:${port}`, NEEDS_CERTIFICATE: '1' });
    expect(await at(createHttpsServer({ ...tls, requestCert: true }, answering(200)), ask)).toEqual([]);
    expect(await at(createHttpsServer(tls, answering(401)), ask)).toEqual([
      'ingress answers who has no client certificate',
    ]);
    expect(await ask(9)).toEqual([expect.stringContaining('ingress does not answer')]);
  },
);
