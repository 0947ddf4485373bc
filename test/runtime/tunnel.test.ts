import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, get as httpsGet } from 'node:https';
import { type AddressInfo, type connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createSecureContext, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { envReader } from '../../src/config/env.ts';
import { proxySettings } from '../../src/config/proxy.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { ProxyFault } from '../../src/runtime/connection-fault.ts';
import { createHttp, fetchThrough, type Http } from '../../src/runtime/http-client.ts';
import { openTracing } from '../../src/runtime/tracing.ts';
import { httpsAgent, openTunnel } from '../../src/runtime/tunnel.ts';
import { capturedLog } from '../support/captured-log.ts';
import { ConnectProxy } from '../support/connect-proxy.ts';
import { type Authority, makeAuthority } from '../support/secure/certificates.ts';
import { until } from '../support/until.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-tunnel-'));
const files = { renewed() {}, unusable() {} };
const HOST = 'provider.example';
let authority: Authority;
let pem: { cert: Buffer; key: Buffer };
let target: ReturnType<typeof createServer>;
let answer: RequestListener;
let proxy: ConnectProxy;
let seen: string[];

beforeAll(() => {
  authority = makeAuthority(dir, 'authority');
  const { certFile, keyFile } = authority.issue('provider', `DNS:${HOST},IP:127.0.0.1`);
  pem = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
});
afterAll(() => rmSync(dir, { recursive: true }));

beforeEach(async () => {
  seen = [];
  answer = ({ method, headers }, response) => {
    seen.push(`${method} ${headers.host}`);
    response.end('answered');
  };
  target = createServer({ ...pem, requestCert: true, rejectUnauthorized: false }, (...args) =>
    answer(...args),
  );
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  proxy = await ConnectProxy.start();
  proxy.hosts.set(HOST, portOf(target));
});
afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  target.closeAllConnections();
  await new Promise((resolve) => target.close(resolve));
});

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
const settings = (HTTPS_PROXY = proxy.url(), NO_PROXY = '') =>
  envReader({ env: { HTTPS_PROXY, NO_PROXY }, fileFault: () => null }).read(proxySettings);
const tls = () => ({ ca: { variable: 'PROVIDER_CA_FILE', path: authority.caFile } });
const open = (given = settings(), more: object = {}): Http =>
  createHttp({ tls: { ...tls(), ...more }, files, clock: systemClock, proxy: given });
const request = (url = `https://${HOST}/`, method: 'GET' | 'POST' = 'GET') => ({
  method,
  url,
  headers: {},
  timeoutMs: 20_000,
  maxAnswerBytes: 1_024,
});
const once = async (http: Http, ...args: Parameters<typeof request>) => {
  try {
    return await http.send(request(...args));
  } finally {
    await http.stop();
  }
};
const failure = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => {
      throw new Error('it was answered');
    },
    (error: Error) => error,
  );

describe('the HTTP client behind a proxy', () => {
  it('reaches a host whose name the proxy alone knows, by TLS from end to end', async () => {
    const { certFile, keyFile } = authority.issue('hookline', 'IP:127.0.0.1');
    answer = ({ socket }, response) =>
      response.end(
        `${(socket as TLSSocket).servername} ${(socket as TLSSocket).getPeerCertificate().subject.CN}`,
      );
    const own = {
      cert: { variable: 'PROVIDER_CERT_FILE', path: certFile },
      key: { variable: 'PROVIDER_KEY_FILE', path: keyFile },
    };
    expect((await once(open(settings(), own))).body).toBe(`${HOST} hookline`);
    expect(proxy.asked).toEqual([`${HOST}:443`]);
    await until('every connection is closed', () => proxy.open === 0);
  });

  it('shows the proxy a user and a password, and the host neither', async () => {
    proxy.credentials = 'hook:correct-horse';
    answer = ({ headers }, response) => response.end(JSON.stringify(headers));
    const { body } = await once(open(settings(proxy.url('hook:correct-horse@'))));
    expect(body).not.toMatch(/proxy|correct-horse/i);
  });

  it('speaks TLS to a proxy with https', async () => {
    await using secure = await ConnectProxy.start(pem);
    secure.hosts.set(HOST, portOf(target));
    const error = await failure(once(open(settings(secure.url()))));
    expect(error.message).toMatch(
      /^the proxy https:\/\/127.0.0.1:\d+ of HTTPS_PROXY cannot be used \(the certificate of the proxy is from an authority that isn't trusted\): set NODE_EXTRA_CA_CERTS/,
    );
  });

  it.each([
    ['takes a certificate of the name of a proxy with https', 'IP:127.0.0.1', /^CONNECT was answered$/],
    [
      'refuses a proxy with https that shows the certificate of the host behind it',
      `DNS:${HOST}`,
      /the certificate of the proxy is for other host names/,
    ],
  ])('%s', async (_, names, told) => {
    const { certFile, keyFile } = authority.issue('proxy', names);
    await using secure = await ConnectProxy.start({
      cert: readFileSync(certFile),
      key: readFileSync(keyFile),
    });
    secure.hosts.set(HOST, portOf(target));
    const trusted = getCACertificates('default');
    setDefaultCACertificates([readFileSync(authority.caFile, 'utf8')]);
    try {
      const to = { host: HOST, port: 443 };
      const opened = openTunnel(settings(secure.url()).proxy!, to, AbortSignal.timeout(2_000));
      const outcome = opened.then((socket) => {
        socket.destroy();
        throw new Error('CONNECT was answered');
      });
      expect((await failure(outcome)).message).toMatch(told);
    } finally {
      setDefaultCACertificates(trusted);
    }
  });

  it.each([
    ['an http address', () => `http://127.0.0.1:${portOf(target)}/`, ''],
    ['a loopback address', () => `https://127.0.0.1:${portOf(target)}/`, ''],
    ['a host of NO_PROXY', () => `https://${HOST}/`, '.example'],
  ])('is not used for %s', async (_, url, noProxy) => {
    await once(open(settings(proxy.url(), noProxy)), url()).catch(() => {});
    expect(proxy.asked).toEqual([]);
  });

  it.each<[ConnectProxy['mode'], string, RegExp]>([
    [407, '', /answered 407 to CONNECT provider.example:443: write user:password@ before its host$/],
    [407, 'hook:wrong-horse@', /answered 407 .*: correct the user and password in HTTPS_PROXY$/],
    [403, '', /answered 403 .*: have it allow that host and port, or name the host in NO_PROXY/],
    [502, 'hook:wrong-horse@', /answered 502 .*: see why it does not reach that host, or name .* NO_PROXY/],
    [404, '', /answered 404 .*: see that HTTPS_PROXY names an HTTP proxy/],
    ['close', '', /cannot be used \(CONNECT provider.example:443: ECONNRESET\): see that/],
    ['garbage', '', /sent more than its answer to CONNECT provider.example:443: see that/],
  ])('says what the proxy does: %s', async (mode, credentials, told) => {
    proxy.mode = mode;
    const error = await failure(once(open(settings(proxy.url(credentials))), undefined, 'POST'));
    expect(error).toBeInstanceOf(ProxyFault);
    expect(error.message).toMatch(told);
    expect(error.message).toContain(`the proxy ${proxy.url()} of HTTPS_PROXY`);
    expect(error.message).not.toMatch(/horse/);
    await until('every connection is closed', () => proxy.open === 0);
    expect(seen).toEqual([]);
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      'nobody listens',
      async () => `http://127.0.0.1:${await unusedPort()}`,
      /\(nobody listens there\): see that it runs, and correct HTTPS_PROXY/,
    ],
    [
      'a host that is unknown',
      async () => 'http://nowhere.invalid:3128',
      /\(the host name is unknown\): correct HTTPS_PROXY/,
    ],
    [
      'https to a proxy without TLS',
      async () => proxy.url().replace('http:', 'https:'),
      /\(no TLS is spoken there.*\): write http in HTTPS_PROXY/,
    ],
    [
      'a server that is no proxy',
      async () => `http://127.0.0.1:${portOf(target)}`,
      /see that HTTPS_PROXY names|write https in HTTPS_PROXY/,
    ],
  ])('says it of a proxy where %s', async (_, url, told) => {
    const error = await failure(once(open(settings(await url()))));
    expect(error).toBeInstanceOf(ProxyFault);
    expect(error.message).toMatch(told);
  });

  it('waits five seconds for a silent proxy, and says that it is the proxy', async () => {
    proxy.mode = 'silent';
    const begin = performance.now();
    const error = await failure(once(open()));
    expect(error.message).toMatch(/of HTTPS_PROXY cannot be used \(no answer in time\)/);
    expect(performance.now() - begin).toBeLessThan(8_000);
    await until('every connection is closed', () => proxy.open === 0);
  }, 15_000);

  it('waits no longer for TLS behind the proxy: the time is that of both', async () => {
    await using silent = await serveSilence();
    proxy.hosts.set(HOST, silent.port);
    const begin = performance.now();
    const error = await failure(once(open()));
    expect(error).not.toBeInstanceOf(ProxyFault);
    expect(error.message).toMatch(/no TLS connection to provider.example within 5000 ms/);
    expect(performance.now() - begin).toBeLessThan(8_000);
    await until('every connection is closed', () => proxy.open === 0);
  }, 15_000);

  it('does not take what is no TLS behind the proxy for a fault of the proxy', async () => {
    proxy.mode = 'late-garbage';
    const error = await failure(once(open()));
    expect(error).not.toBeInstanceOf(ProxyFault);
    expect(error.message).toMatch(/wrong version number|packet length too long/);
    await until('every connection is closed', () => proxy.open === 0);
  });

  it('does not take an answer that the end of the proxy cuts off for a request that was not sent', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    answer = () => resolve();
    const http = open();
    const failed = failure(http.send(request(undefined, 'POST')));
    await arrived;
    await proxy[Symbol.asyncDispose]();
    expect(await failed).not.toBeInstanceOf(ProxyFault);
    // The next one is not sent, and says so.
    expect(await failure(http.send(request(undefined, 'POST')))).toBeInstanceOf(ProxyFault);
    await http.stop();
    proxy = await ConnectProxy.start();
  });

  it('ends connections that are being made when it stops', async () => {
    proxy.mode = 'silent';
    const http = open();
    const failed = failure(http.send(request()));
    await until('the proxy is asked', () => proxy.asked.length > 0);
    await http.stop();
    await failed;
    await until('every connection is closed', () => proxy.open === 0, 2_000);
  });

  it('answers forty requests at once, and leaves no connection behind', async () => {
    const http = open();
    const answers = await Promise.all(Array.from({ length: 40 }, () => http.send(request())));
    expect(answers.map(({ body }) => body)).toEqual(Array(40).fill('answered'));
    await http.stop();
    await until('every connection is closed', () => proxy.open === 0);
  });
});

describe('an agent behind a proxy', () => {
  const ask = (agent: ReturnType<typeof httpsAgent>) =>
    new Promise<string>((resolve, reject) => {
      httpsGet(`https://${HOST}/`, { agent }, (response) => resolve(text(response))).on('error', reject);
    });
  const make = (connectMs = 2_000) =>
    httpsAgent(
      { keepAlive: true, secureContext: createSecureContext({ ca: readFileSync(authority.caFile) }) },
      { ...settings(), connectMs },
    );

  it('reaches a host whose name the proxy alone knows, by one connection for several requests', async () => {
    const agent = make();
    expect([await ask(agent), await ask(agent)]).toEqual(['answered', 'answered']);
    expect(proxy.asked).toEqual([`${HOST}:443`]);
    agent.destroy();
    await until('every connection is closed', () => proxy.open === 0);
  });

  it('waits for an answer as long as without a proxy', async () => {
    answer = (_request, response) => void setTimeout(() => response.end('late'), 600);
    const agent = make(300);
    expect(await ask(agent)).toBe('late');
    agent.destroy();
  });

  it('fails in time where the proxy is silent, and at once when it is destroyed', async () => {
    proxy.mode = 'silent';
    expect(await failure(ask(make(100)))).toBeInstanceOf(ProxyFault);
    const agent = make(60_000);
    const failed = failure(ask(agent));
    await until('the proxy is asked', () => proxy.asked.length > 1);
    agent.destroy();
    await failed;
    await until('every connection is closed', () => proxy.open === 0, 2_000);
  });
});

it('the standard fetch goes through the proxy', async () => {
  const error = await failure(fetchThrough(settings())(`https://${HOST}/`));
  // The authority is not among those that Node trusts, which shows that TLS is spoken with the host.
  expect(String((error.cause as Error).message)).toMatch(/unable to verify|self-signed/);
  expect(proxy.asked).toEqual([`${HOST}:443`]);
});

it('traces go through the proxy', async () => {
  const to = { endpoint: `https://${HOST}`, ratio: 1, serviceName: 'a', proxy: settings() };
  const { tracer, stop } = await openTracing({ ...to, logger: capturedLog().logger });
  tracer.start('a span', { kind: 'server', parent: undefined, attributes: {} }).end();
  await stop();
  expect(proxy.asked).toEqual([`${HOST}:443`]);
});

it('an IPv6 address is asked for in brackets', async () => {
  proxy.mode = 403;
  const to = { host: '2001:db8::1', port: 8443 };
  const error = await failure(openTunnel(settings().proxy!, to, AbortSignal.timeout(2_000)));
  expect(error.message).toContain('CONNECT [2001:db8::1]:8443');
  expect(proxy.asked).toEqual(['[2001:db8::1]:8443']);
});

async function unusedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Takes connections, and says nothing. */
async function serveSilence() {
  const sockets = new Set<ReturnType<typeof connect>>();
  const server = createTcpServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: portOf(server),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
