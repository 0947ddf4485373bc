import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { createHttp } from '../../src/runtime/http-client.ts';
import { selfSigned } from '../support/certificates.ts';
import { makeAuthority } from '../support/secure/certificates.ts';
import { serve } from '../support/serve.ts';
import { until } from '../support/until.ts';

const silent = { renewed() {}, unusable() {} };
const MEGABYTE = 1024 * 1024;

const get = (url: string) =>
  ({ method: 'GET', url, headers: {}, timeoutMs: 10_000, maxAnswerBytes: MEGABYTE }) as const;

describe('the HTTP client', () => {
  it('gives status, Retry-After and body of any answer', async () => {
    await using server = await serve((_, response) =>
      response.writeHead(503, { 'retry-after': '9' }).end('unavailable'),
    );
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    expect(await http.send(get(server.url))).toEqual({
      status: 503,
      retryAfter: '9',
      body: 'unavailable',
      date: expect.stringMatching(/ GMT$/),
    });
    await http.stop();
  });

  it('rejects an answer that is larger than anyone should hold', async () => {
    let sent = 0;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      const send = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, 0x20))) sent += 16_384;
      };
      response.on('drain', send).on('close', resolve);
      send();
    });
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    await expect(http.send(get(server.url))).rejects.toThrow(`larger than ${MEGABYTE} bytes`);
    await closed;
    expect(sent).toBeLessThan(16 * MEGABYTE);
    await http.stop();
  });

  it('asks for answers as they are: without a word servers may pack them', async () => {
    await using server = await serve(({ headers }, response) => {
      const asIs = headers['accept-encoding'] === 'identity';
      if (asIs) response.end('{"id":"one"}');
      else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"id":"one"}'));
    });
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    expect((await http.send(get(server.url))).body).toBe('{"id":"one"}');
    await http.stop();
  });

  it('does not unpack what was not asked for', async () => {
    const packed = gzipSync(Buffer.alloc(64 * MEGABYTE, 0x20));
    let status = 200;
    await using server = await serve((_, response) =>
      response.writeHead(status, { 'content-encoding': 'gzip' }).end(packed),
    );
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    // What it says is not known: a page may stand in it.
    await expect(http.send(get(server.url))).rejects.toThrow('its answer is packed (gzip)');
    status = 404;
    const answer = await http.send(get(server.url));
    expect(answer.status).toBe(404);
    expect(answer.body.length).toBeLessThanOrEqual(packed.length);
    await http.stop();
  });

  it('does not follow a redirect', async () => {
    const asked: (string | undefined)[] = [];
    await using server = await serve((request, response) => {
      asked.push(request.url);
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    expect((await http.send(get(`${server.url}/here`))).status).toBe(307);
    expect(asked).toEqual(['/here']);
    await http.stop();
  });

  it('reads on only one large answer at a time, and goes on when that one is given up', async () => {
    const answers: ServerResponse[] = [];
    await using server = await serve((_, response) => {
      answers.push(response.writeHead(200));
      response.write(Buffer.alloc(512 * 1024, 0x20));
    });
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    const ends: string[] = [];
    const ask = (name: string, timeoutMs: number) =>
      http.send({ ...get(server.url), timeoutMs }).then(
        () => ends.push(name),
        () => ends.push(`${name} is given up`),
      );
    const hanging = ask('a', 3_000);
    await until('it is answered', () => answers.length === 1);
    const second = ask('b', 20_000);
    await until('it is answered', () => answers.length === 2);
    answers[1]?.end();
    await hanging;
    await second;
    expect(ends).toEqual(['a is given up', 'b']);
    await http.stop();
  });

  it('cuts what is under way when it is stopped', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    await using server = await serve(() => resolve());
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    const answer = expect(http.send(get(server.url))).rejects.toThrow();
    await arrived;
    await http.stop();
    await answer;
  });
});

describe('the HTTP client after its stop', () => {
  it('sends nothing, not even what it was given before', async () => {
    let requests = 0;
    await using server = await serve((_, response) => {
      requests++;
      response.end();
    });
    const http = createHttp({ tls: {}, files: silent, clock: systemClock });
    const before = http.send(get(server.url));
    const stopped = http.stop();
    await expect(before).rejects.toThrow('was stopped');
    await expect(http.send(get(server.url))).rejects.toThrow('was stopped');
    await stopped;
    expect(requests).toBe(0);
  });
});

describe('PROVIDER_CA_FILE', () => {
  it('is read again when it changes, and a file that cannot be used changes nothing', async () => {
    using server = selfSigned();
    using other = selfSigned();
    const [cert, key] = [server.certFile, server.keyFile].map((file) => readFileSync(file));
    const provider = createServer({ cert, key }, (_, response) => response.end('of the provider'));
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const seen: string[] = [];
    const files = {
      renewed: () => seen.push('renewed'),
      unusable: (error: Error) => seen.push(error.message),
    };
    const caFile = other.certFile;
    const http = createHttp({
      tls: { ca: { variable: 'PROVIDER_CA_FILE', path: caFile } },
      files,
      clock: systemClock,
    });
    await expect(http.send(get(url))).rejects.toThrow();
    copyFileSync(server.certFile, caFile);
    expect((await http.send(get(url))).body).toBe('of the provider');
    writeFileSync(caFile, 'not a certificate');
    expect((await http.send(get(url))).body).toBe('of the provider');
    // As it is while it is being written.
    writeFileSync(caFile, cert?.subarray(0, cert.length / 2) ?? '');
    expect((await http.send(get(url))).body).toBe('of the provider');
    expect(seen).toEqual([
      'renewed',
      expect.stringContaining(`PROVIDER_CA_FILE, ${caFile}: holds no certificate`),
      expect.stringContaining(`PROVIDER_CA_FILE, ${caFile}: holds a damaged certificate`),
    ]);
    await http.stop();
    provider.close();
  });
});

describe('a client certificate', () => {
  it('is shown to a server that demands one, and read again when it changes', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'hookline-mtls-'));
    const authority = makeAuthority(dir, 'authority');
    const stranger = makeAuthority(dir, 'stranger');
    const server = authority.issue('server', 'IP:127.0.0.1');
    const certFile = join(dir, 'own.pem');
    const keyFile = join(dir, 'own.key');
    const show = (identity: { certFile: string; keyFile: string }) => {
      copyFileSync(identity.certFile, certFile);
      copyFileSync(identity.keyFile, keyFile);
    };
    const [cert, key, ca] = [server.certFile, server.keyFile, authority.caFile].map((file) =>
      readFileSync(file),
    );
    const provider = createServer(
      { cert, key, ca, requestCert: true, rejectUnauthorized: true },
      (request, response) => response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
    );
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    show(stranger.issue('strange', 'IP:127.0.0.1'));
    const tls = {
      ca: { variable: 'PROVIDER_CA_FILE', path: authority.caFile },
      cert: { variable: 'PROVIDER_CERT_FILE', path: certFile },
      key: { variable: 'PROVIDER_KEY_FILE', path: keyFile },
    };
    const http = createHttp({ tls, files: silent, clock: systemClock });
    await expect(http.send(get(url))).rejects.toThrow();
    show(authority.issue('hookline', 'IP:127.0.0.1'));
    expect((await http.send(get(url))).body).toBe('hookline');
    await http.stop();
    provider.close();
    rmSync(dir, { recursive: true });
  });
});
