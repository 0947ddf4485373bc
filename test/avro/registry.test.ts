import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createWriterReader } from '../../src/avro/record-reader.ts';
import { createRegistry } from '../../src/avro/registry.ts';
import { describeError } from '../../src/cli/shell/shell.ts';
import { HooklineError } from '../../src/core/errors.ts';

/** A server on a free port that answers as told. */
async function serve(listener: RequestListener, tls?: { key: Buffer; cert: Buffer }) {
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, [Symbol.asyncDispose]: stop };
}

const answering =
  (status: number, body: unknown): RequestListener =>
  (_request, response) => {
    response
      .writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
      .end(JSON.stringify(body));
  };

const registryAt = (url: string) => createRegistry({ url, timeoutMs: 300 });

/** Whatever can be asked of a registry. */
const everyAsk = (registry: ReturnType<typeof registryAt>) => [
  () => registry.idOf('s', '{}'),
  () => registry.writerType(7),
  () => registry.versions('s'),
  () => registry.subjects(),
  () => registry.register('s', '{"type":"record","name":"R","fields":[]}'),
];

it('asks for answers as they are: without a word servers may pack them', async () => {
  await using server = await serve(({ method, url = '', headers }, response) => {
    const answer =
      method === 'POST' ? { id: 7 } : url.startsWith('/api/config') ? { compatibilityLevel: 'FULL' } : ['a'];
    const body = JSON.stringify(answer);
    response.setHeader('content-type', 'application/vnd.schemaregistry.v1+json');
    if (headers['accept-encoding'] === 'identity') response.end(body);
    else response.setHeader('content-encoding', 'gzip').end(gzipSync(body));
  });
  const registry = registryAt(server.url);
  expect(await registry.idOf('a', '"string"')).toBe(7);
  expect(await registry.compatibility('a')).toBe('FULL');
  expect(await registry.subjects()).toEqual(['a']);
});

describe('the registry, reached by access tokens', () => {
  const without = (error: HooklineError) => {
    const tokens = { get: () => Promise.reject(error), reject() {}, current: () => undefined };
    return createRegistry({ url: 'http://127.0.0.1:9/api', timeoutMs: 300, tokens });
  };

  it.each([
    ['ACCESS_TOKEN_UNAVAILABLE', 'REGISTRY_UNAVAILABLE'],
    ['ACCESS_TOKEN_REFUSED', 'REGISTRY_REFUSED'],
  ] as const)(
    'is waited for while there is none: %s is %s, so that no record counts as unreadable',
    async (token, code) => {
      const registry = without(new HooklineError(token, 'the endpoint says so', { remedy: 'restore it' }));
      const message = expect.stringMatching(/access token \(the endpoint says so\): restore it/);
      for (const asked of [registry.subjects(), registry.writerType(1), registry.idOf('s', '{}')])
        await expect(asked).rejects.toMatchObject({ code, message });
    },
  );
});

describe('the registry', () => {
  it.each([
    [404, 'SCHEMA_NOT_REGISTERED'],
    [401, 'REGISTRY_REFUSED'],
    [403, 'REGISTRY_REFUSED'],
    [500, 'REGISTRY_UNAVAILABLE'],
    [503, 'REGISTRY_UNAVAILABLE'],
  ])('that answers %i is %s', async (status, code) => {
    await using server = await serve(answering(status, { error_code: status * 100, message: 'it says' }));
    await expect(registryAt(server.url).idOf('s', '{}')).rejects.toMatchObject({ code });
  });

  it.each([409, 422])(
    'that answers %i to a new schema says that it is incompatible, and why',
    async (status) => {
      await using server = await serve((request, response) => {
        const isConfig = request.url?.startsWith('/api/config/');
        answering(isConfig ? 200 : status, { compatibilityLevel: 'FULL_TRANSITIVE', message: 'field y' })(
          request,
          response,
        );
      });
      const schema = '{"type":"record","name":"R","fields":[]}';
      const refused = { code: 'SCHEMA_INCOMPATIBLE', message: expect.stringContaining('field y') };
      await expect(registryAt(server.url).register('s', schema)).rejects.toMatchObject(refused);
    },
  );

  // The second is that of a registry or context in IMPORT mode.
  it.each(['Subject s is in read-only mode', 'Subject s in context . is not in read-write mode'])(
    'that takes no schemas (%s) is not said to refuse the schema, and the remedy is named',
    async (message) => {
      await using server = await serve(answering(422, { error_code: 42205, message }));
      await expect(registryAt(server.url).register('s', '"string"')).rejects.toMatchObject({
        code: 'REGISTRY_READ_ONLY',
        message: expect.stringContaining(message),
        remedy: expect.stringContaining('set its mode to READWRITE'),
      });
    },
  );

  it('that hangs, is not there, or is something else is REGISTRY_UNAVAILABLE, its address named', async () => {
    await using hanging = await serve(() => {});
    await using other = await serve((_request, response) => response.end('<html>a page</html>'));
    for (const url of [hanging.url, 'http://127.0.0.1:9/api', other.url]) {
      const unavailable = { code: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining(url) };
      await expect(registryAt(url).subjects()).rejects.toMatchObject(unavailable);
    }
  });

  it('that hangs is explained as such, with the variable to check', async () => {
    await using hanging = await serve(() => {});
    const failure = await registryAt(hanging.url)
      .idOf('s', '{}')
      .catch((error: Error) => error);
    expect(describeError(failure)).toBe(
      `the schema registry does not answer (${hanging.url}: no answer in time): check that it runs, and check SCHEMA_REGISTRY_URL and the network between`,
    );
  });

  it.each([200, 404, 502])(
    'that is a web page, answered %i, is not quoted, and the remedy is named',
    async (status) => {
      await using page = await serve((_request, response) =>
        response
          .writeHead(status, { 'content-type': 'text/html' })
          .end('<!doctype html><title>Kafka UI</title>'),
      );
      const registry = registryAt(page.url);
      for (const ask of [() => registry.subjects(), () => registry.versions('s')]) {
        const failure = await ask().catch((error: Error) => error);
        expect(describeError(failure)).toMatch(
          /what answers is no schema registry\): see that a registry runs behind that address, and that SCHEMA_REGISTRY_URL has the path of its Confluent API$/,
        );
      }
    },
  );

  it.each([
    ['answers 404 to everything, in plain text', 404, '404 page not found'],
    ['answers 404 to everything, in JSON of its own', 404, '{"error":"Not Found"}'],
    ['answers 404 to everything, with nothing', 404, ''],
    ['answers 200 to everything, with a page', 200, '<!doctype html><title>Kafka UI</title>'],
    ['answers 200 to everything, in JSON of its own', 200, '{"status":"ok"}'],
  ])('that %s is no registry, and the variable to check is named', async (_, status, body) => {
    await using server = await serve((_request, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body),
    );
    const at = status === 404 ? `${server.url} answered 404` : server.url;
    for (const ask of everyAsk(registryAt(server.url))) {
      const failure = await ask().catch((error: Error) => error);
      expect(describeError(failure)).toContain(
        `(${at}: what answers is no schema registry): see that a registry runs behind that address, and that SCHEMA_REGISTRY_URL has`,
      );
    }
  });

  it.each([
    [301, ''],
    [302, '<html><title>302 Found</title></html>'],
    [307, '{"message":"Temporary Redirect"}'],
  ])('that answers %i is told as a redirect, with the variable to check', async (status, body) => {
    await using server = await serve((_request, response) =>
      response.writeHead(status, { location: 'https://login.example/' }).end(body),
    );
    for (const ask of everyAsk(registryAt(server.url))) {
      const failure = await ask().catch((error: Error) => error);
      expect(describeError(failure)).toContain(
        `(${server.url}: what answers is no schema registry: it redirects to another address (${status})): see that`,
      );
    }
  });

  it('that answers 304 is told by that status, which is no redirect', async () => {
    await using server = await serve((_request, response) => response.writeHead(304).end());
    for (const ask of everyAsk(registryAt(server.url))) {
      const failure = await ask().catch((error: Error) => error);
      expect(describeError(failure)).toContain(
        `(${server.url}: what answers is no schema registry: it answers 304): see`,
      );
    }
  });

  it.each([404, 500])('that answers %i with null is unavailable, and ends no process', async (status) => {
    await using server = await serve(answering(status, null));
    const registry = registryAt(server.url);
    for (const ask of [
      () => registry.idOf('s', '{}'),
      () => registry.writerType(7),
      () => registry.versions('s'),
    ])
      await expect(ask()).rejects.toThrow(/no schema registry\): .* SCHEMA_REGISTRY_URL/);
  });

  it.each<[string, RequestListener]>([
    [
      'cuts its answer off',
      (_request, response) => void response.write('{"schema":"', () => response.destroy()),
    ],
    [
      'answers a byte at a time, without end',
      (_request, response) => {
        const drip = setInterval(() => response.write(' '), 50);
        response.on('close', () => clearInterval(drip));
      },
    ],
    [
      'answers without end, at full speed',
      (_request, response) => {
        const flood = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, ' ')));
        };
        response.on('drain', flood);
        flood();
      },
    ],
    [
      'hangs in the middle of its answer',
      (_request, response) => void response.writeHead(200, { 'content-length': 100 }).write('['),
    ],
  ])('that %s is REGISTRY_UNAVAILABLE, and ends no process', async (_, listener) => {
    await using server = await serve(listener);
    const registry = registryAt(server.url);
    for (const ask of [
      () => registry.writerType(7),
      () => registry.versions('s'),
      () => registry.compatibility('s'),
      () => registry.time(),
    ])
      await expect(ask()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  });

  it.each([
    ['schema', '{"schema":"'],
    ['version', '{"subject":"s","version":1,"schema":"'],
  ])('whose %s is larger than what is read has one that nobody reads, then and later', async (_, begin) => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${begin}${'x'.repeat(5 * 1024 * 1024)}"}`);
    });
    const registry = createRegistry({ url: server.url, timeoutMs: 5_000 });
    await expect(registry.writerType(7)).rejects.toMatchObject({ code: 'SCHEMA_INVALID' });
  });

  it('that says very much of why it refuses is quoted in short', async () => {
    await using server = await serve(answering(500, { error_code: 50_001, message: 'x'.repeat(1_000_000) }));
    const failure = await registryAt(server.url)
      .subjects()
      .catch((error: Error) => error.message.length);
    expect(failure).toBeLessThan(3_000);
  });

  it('gives the type that a record was written with', async () => {
    const schema = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}';
    await using server = await serve(answering(200, { schema }));
    expect((await registryAt(server.url).writerType(7)).fromBuffer(Buffer.from('\x02x'))).toEqual({ a: 'x' });
  });

  it.each([
    ['another kind of schema', { schemaType: 'PROTOBUF', schema: 'syntax = "proto3"; message A {}' }],
    ['a kind that nobody knows', { schemaType: 'THRIFT', schema: '{}' }],
    ['a schema that is no JSON', { schema: 'record R' }],
    ['a schema that can not be compiled', { schema: '{"type":"record","name":"R","fields":[{"name":"a"}]}' }],
  ])('that has %s for a record is there: waiting for it would fix nothing', async (_, body) => {
    await using server = await serve(answering(200, body));
    const type = registryAt(server.url).writerType(7);
    await expect(
      createWriterReader(registryAt(server.url))(Buffer.from('0000000007', 'hex')),
    ).rejects.toMatchObject({ code: 'RECORD_UNREADABLE' });
    await expect(type).rejects.toMatchObject({ code: expect.stringMatching(/^SCHEMA_INVALID$/) });
  });

  it('that has deleted a version already is as good as one that deletes it', async () => {
    await using server = await serve((request, response) => {
      const [method, url = ''] = [request.method, request.url];
      if (method === 'DELETE')
        return answering(409, { error_code: 40406, message: 'Schema is already soft deleted' })(
          request,
          response,
        );
      const isList = method === 'GET' && url.endsWith('/versions');
      answering(200, isList ? [1] : { is_compatible: false, id: 2 })(request, response);
    });
    expect(await registryAt(server.url).moveOver('s', '{}')).toEqual([1]);
  });

  it.each([
    ['its own rule', 200, { compatibilityLevel: 'NONE' }, 'NONE'],
    ['no rule', 404, { error_code: 40408, message: 'not configured' }, null],
    ['no right to see its rule', 403, { message: 'no' }, null],
  ])('tells of a subject %s', async (_, status, body, expected) => {
    await using server = await serve(answering(status, body));
    expect(await registryAt(server.url).compatibility('s')).toBe(expected);
  });

  it('is asked about every version, but for those that are deleted meanwhile', async () => {
    await using server = await serve(({ url = '' }, response) => {
      if (url.endsWith('/subjects/s/versions')) return answering(200, [1, 2, 3])({} as never, response);
      if (url.endsWith('/2'))
        return answering(404, { error_code: 40402, message: 'gone' })({} as never, response);
      answering(200, { is_compatible: !url.endsWith('/1'), schema: '{}' })({} as never, response);
    });
    const registry = registryAt(server.url);
    expect(await registry.incompatibleVersions('s', '{}')).toEqual([1]);
    expect((await registry.versions('s')).map(({ version }) => version)).toEqual([1, 3]);
  });

  it('has no versions of a new subject', async () => {
    await using server = await serve(answering(404, { error_code: 40401, message: 'no such subject' }));
    const registry = registryAt(server.url);
    expect([await registry.incompatibleVersions('s', '{}'), await registry.versions('s')]).toEqual([
      null,
      [],
    ]);
  });

  it('whose place a proxy has taken, with a page or a bare 404, is not there', async () => {
    for (const status of [200, 404]) {
      await using server = await serve((_request, response) =>
        response.writeHead(status).end('default backend'),
      );
      await expect(registryAt(server.url).writerType(7)).rejects.toMatchObject({
        code: 'REGISTRY_UNAVAILABLE',
      });
    }
  });

  it('has not lost what a gateway before it does not find, whatever shape that says it in', async () => {
    for (const body of [{ message: 'no Route matched with those values' }, { error_code: 4 }, []]) {
      await using server = await serve(answering(404, body));
      const registry = registryAt(server.url);
      const asks = [
        () => registry.idOf('s', '{}'),
        () => registry.writerType(7),
        () => registry.versions('s'),
      ];
      for (const ask of asks) await expect(ask()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    }
  });

  it.each([0, -5, 2 ** 31, 2 ** 53, '7', 1.5])('that has %s for an id is none', async (id) => {
    await using server = await serve(answering(200, { subject: 's', id, version: 1 }));
    await expect(registryAt(server.url).idOf('s', '{}')).rejects.toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
    });
  });

  it('is asked over TLS with an authority of its own, and with user and password', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'hookline-registry-'));
    const args =
      'req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=registry -addext subjectAltName=IP:127.0.0.1';
    execFileSync('openssl', args.split(' '), { cwd: dir, stdio: 'pipe' });
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(dir, name))) as [
      Buffer,
      Buffer,
    ];
    rmSync(dir, { recursive: true });
    await using server = await serve(
      (request, response) => {
        const isUser =
          request.headers.authorization === `Basic ${Buffer.from('ann:pass').toString('base64')}`;
        answering(isUser ? 200 : 401, ['a-value'])(request, response);
      },
      { key, cert },
    );
    const auth = { username: 'ann', password: 'pass' };
    const trusting = createRegistry({
      url: server.url,
      timeoutMs: 2_000,
      auth,
      secureContext: createSecureContext({ ca: cert }),
    });
    expect(await trusting.subjects()).toEqual(['a-value']);
    const distrusting = createRegistry({ url: server.url, timeoutMs: 2_000, auth });
    await expect(distrusting.subjects()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  });
});
