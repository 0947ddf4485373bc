import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { exchange, post, sign, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status","entityId":"e-1"}';
const head = (path: string, lines: readonly string[]) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('\r\n')}\r\n\r\n`;
const signed = (text: string) => [`X-Signature-SHA256: ${sign(text)}`, 'Content-Type: application/json'];
const jsonOf = async (response: Response) => (await response.json()) as Record<string, unknown>;

describe('the webhooks server', () => {
  it('answers 200 with the event id and where it is stored', async () => {
    await using ingress = await startIngressApp();
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, body);
    expect(response.status).toBe(200);
    expect(await jsonOf(response)).toEqual({
      eventId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      stored: 'kafka',
    });
    expect(ingress.seen.records).toHaveLength(1);
  });

  it('measures how long each webhook took, whether it is stored or refused', async () => {
    const BUSY_MS = 30;
    await using ingress = await startIngressApp({
      publish: (_, n) => {
        for (const end = performance.now() + BUSY_MS; performance.now() < end; );
        if (n > 1) throw new HooklineError('PUBLISH_DEADLINE');
      },
    });
    for (const status of [200, 503])
      expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(status);
    expect(ingress.seconds).toHaveLength(2);
    for (const took of ingress.seconds) expect(took).toBeGreaterThanOrEqual(BUSY_MS / 1_000);
  });

  it('has the memory of a webhook counted once while it is stored, and not at all when it is', async () => {
    const taken: object[] = [];
    await using ingress = await startIngressApp({
      publish() {
        const { arriving, stored } = ingress.memory;
        taken.push({ arriving: arriving.bytes.taken, stored: stored.taken });
      },
    });
    const request = head('/webhooks/ledger-eu', [
      ...signed(body),
      'Transfer-Encoding: chunked',
      'Connection: close',
    ]);
    const chunks = [...body].map((sign) => `1\r\n${sign}\r\n`);
    expect(await exchange(ingress.port, [request, ...chunks, '0\r\n\r\n'])).toMatch(/^HTTP\/1\.1 200 /);
    expect(taken).toEqual([{ arriving: 0, stored: body.length }]);
    expect(ingress.memory.small.taken).toBe(0);
  });

  it('verifies the bytes as received, in whatever pieces they come', async () => {
    await using ingress = await startIngressApp();
    const odd = ` {"type" : "payment-status","n":1.10}\n`;
    const chunks = [...odd].map((sign) => `1\r\n${sign}\r\n`);
    const request = head('/webhooks/ledger-eu', [
      ...signed(odd),
      'Transfer-Encoding: chunked',
      'Connection: close',
    ]);
    expect(await exchange(ingress.port, [request, ...chunks, '0\r\n\r\n'])).toMatch(/^HTTP\/1\.1 200 /);
    expect(ingress.seen.records[0]?.value?.includes(odd)).toBe(true);
  });

  it('answers a path with an escape, which takes the way of the router, like a plain one, to the byte', async () => {
    await using ingress = await startIngressApp();
    const answers: string[] = [];
    for (const path of ['/webhooks/ledger-eu', '/webhooks/ledger%2Deu', '/webhooks/ledger-eu?a=b']) {
      const heads = [
        signed(body),
        ['Content-Type: text/plain'],
        ['Content-Type: application/json'],
        ['Content-Type: no type'],
        ['Content-Type: no type', 'Host: y'],
      ];
      for (const lines of heads) {
        const request = head(path, [...lines, `Content-Length: ${body.length}`, 'Connection: close']);
        answers.push((await exchange(ingress.port, [request + body])).replace(/^Date: .*$/m, ''));
      }
    }
    const plain = answers.slice(0, 5);
    expect(plain.map((answer) => answer.slice(9, 12))).toEqual(['200', '415', '401', '415', '400']);
    expect(answers.slice(5, 10)).toEqual(plain);
    expect(answers.slice(10)).toEqual(plain);
  });

  it('ends the connection and nothing else where the answering itself fails', async () => {
    const faults: unknown[] = [];
    const observer = {
      accepted() {},
      refused(error: unknown, _ref: string | undefined, seconds: number | undefined) {
        if (seconds !== undefined) throw new Error('a fault of ours');
        faults.push((error as Error).message);
      },
      closed() {},
      stop: async () => {},
    };
    await using ingress = await startIngressApp({ observer });
    for (const path of ['/webhooks/ledger-eu', '/webhooks/ledger%2Deu'])
      expect(await exchange(ingress.port, [`${head(path, [`Content-Length: ${body.length}`])}${body}`])).toBe(
        '',
      );
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
    expect(faults).toEqual(['a fault of ours', 'a fault of ours']);
  });

  it('answers every unauthentic request alike, to the byte', async () => {
    await using ingress = await startIngressApp();
    const wrong = sign(`${body} `);
    const requests = [
      post(`${ingress.url}/webhooks/ledger-eu`, body, { 'x-signature-sha256': undefined }),
      post(`${ingress.url}/webhooks/ledger-eu`, body, { 'x-signature-sha256': wrong }),
      post(`${ingress.url}/webhooks/ledger-eu`, body, { 'x-signature-sha256': 'nonsense' }),
      post(`${ingress.url}/webhooks/ledger-eu`, body, {
        'x-signature-sha256': `${sign(body)}, ${sign(body)}`,
      }),
      post(`${ingress.url}/webhooks/nobody`, body),
      post(`${ingress.url}/webhooks/NOT%20A%20REF`, body),
    ];
    const answers = await Promise.all(
      requests.map(async (request) => {
        const response = await request;
        const headers = [...response.headers].filter(([name]) => name !== 'date');
        return { status: response.status, headers, text: await response.text() };
      }),
    );
    expect(answers[0]).toMatchObject({ status: 401, text: expect.stringContaining('UNAUTHENTIC') });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(ingress.seen.records).toEqual([]);
    expect(ingress.refusals.every(({ code }) => code === 'UNAUTHENTIC')).toBe(true);
  });

  it.each([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['no type', { 'content-type': '' }],
    ['something like JSON', { 'content-type': 'application/jsonx' }],
    ['what is no media type', { 'content-type': 'json' }],
    ['gzip', { 'content-encoding': 'gzip' }],
    ['identity', { 'content-encoding': 'identity' }],
  ])('answers 415 to %s', async (_, headers) => {
    await using ingress = await startIngressApp();
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, body, headers);
    expect([response.status, (await jsonOf(response)).error]).toEqual([415, 'MEDIA_TYPE_UNSUPPORTED']);
  });

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/octet-stream'])(
    'takes %s',
    async (type) => {
      await using ingress = await startIngressApp();
      expect((await post(`${ingress.url}/webhooks/ledger-eu`, body, { 'content-type': type })).status).toBe(
        200,
      );
    },
  );

  it.each([
    ['Connection: close', []],
    ['Connection: Upgrade', ['Upgrade: h2c']],
  ])(
    'a refusal that ends its connection (%s) reaches a sender that sends its whole body before it reads',
    async (...[connection, others]) => {
      await using ingress = await startIngressApp({ maxBodyBytes: 1_000 });
      const socket = connect({ port: ingress.port, host: '127.0.0.1', allowHalfOpen: true });
      const failures: Error[] = [];
      socket.on('error', (error) => failures.push(error));
      socket.write(
        head('/webhooks/ledger-eu', [...signed(body), connection, ...others, 'Content-Length: 160000']),
      );
      for (let sent = 0; sent < 160_000 && !socket.destroyed; sent += 16_000) {
        socket.write(Buffer.alloc(16_000, ' '));
        await sleep(5);
      }
      expect(failures).toEqual([]);
      const [answer] = await once(socket, 'data');
      expect(`${answer}`).toMatch(/^HTTP\/1\.1 413 /);
      socket.destroy();
    },
  );

  it('answers 413 early by Content-Length, without reading, and goes on without one until it is too much', async () => {
    await using ingress = await startIngressApp({ maxBodyBytes: 100 });
    const early = head('/webhooks/ledger-eu', [...signed(''), 'Content-Length: 101', 'Expect: 100-continue']);
    const answer = await exchange(ingress.port, [early]);
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*Connection: close/is);
    const chunk = `65\r\n${'x'.repeat(101)}\r\n`;
    const chunked = head('/webhooks/ledger-eu', [
      ...signed(''),
      'Transfer-Encoding: chunked',
      'Connection: close',
    ]);
    expect(await exchange(ingress.port, [chunked, chunk, '0\r\n\r\n'])).toMatch(/^HTTP\/1\.1 413 /);
    const exact = '{}'.padStart(100);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, exact)).status).toBe(200);
  });

  it('tells a sender that waits for it to go ahead, once the head is in order', async () => {
    await using ingress = await startIngressApp();
    const lines = [
      ...signed(body),
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close',
    ];
    const answer = await exchange(ingress.port, [head('/webhooks/ledger-eu', lines), body]);
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  it('keeps the connection after a refusal, and answers the next request on it', async () => {
    await using ingress = await startIngressApp();
    const refused = head('/webhooks/ledger-eu', ['Content-Type: text/plain', 'Content-Length: 5']);
    const good = head('/webhooks/ledger-eu', [
      ...signed(body),
      `Content-Length: ${body.length}`,
      'Connection: close',
    ]);
    const answer = await exchange(ingress.port, [refused, 'xxxxx', good, body]);
    expect(answer).toMatch(/^HTTP\/1\.1 415 [\s\S]*HTTP\/1\.1 200 /);
  });

  it('cuts off a sender that goes on and on after a refusal, once it has had its answer', async () => {
    await using ingress = await startIngressApp();
    const refused = head('/webhooks/ledger-eu', ['Content-Type: text/plain', 'Transfer-Encoding: chunked']);
    const megabyte = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
    const answer = exchange(ingress.port, [refused, ...Array(8).fill(megabyte)]).catch((error) => error.code);
    expect(await answer).toMatch(/^HTTP\/1\.1 415|ECONNRESET|EPIPE/);
  });

  it('answers 400 to a body that is cut off, and stores nothing', async () => {
    await using ingress = await startIngressApp();
    const request = head('/webhooks/ledger-eu', [...signed(body), `Content-Length: ${body.length + 10}`]);
    expect(await exchange(ingress.port, [request, body], { end: true })).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*BODY_INCOMPLETE/,
    );
    expect(ingress.seen.records).toEqual([]);
  });

  it('answers 408 to a body that does not come', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 300 });
    const request = head('/webhooks/ledger-eu', [...signed(body), `Content-Length: ${body.length}`]);
    expect(await exchange(ingress.port, [request, body.slice(0, 5)])).toMatch(
      /^HTTP\/1\.1 408 [\s\S]*BODY_TOO_SLOW/,
    );
    expect(ingress.seen.records).toEqual([]);
  });

  it.each([
    ['GET', '/webhooks/ledger-eu'],
    ['POST', '/'],
    ['POST', '/webhooks'],
    ['POST', '/webhooks/a/b'],
    ['DELETE', '/webhooks/ledger-eu'],
  ])('answers 404 to %s %s', async (method, path) => {
    await using ingress = await startIngressApp();
    const response = await fetch(ingress.url + path, { method });
    expect([response.status, (await jsonOf(response)).error]).toEqual([404, 'NOT_FOUND']);
  });

  it.each([
    ['PUBLISH_DEADLINE', 503],
    ['PUBLISH_BACKLOG_FULL', 503],
    ['PUBLISHER_CLOSED', 503],
    ['PUBLISH_REFUSED', 503],
  ] as const)('answers %s with %i and Retry-After', async (code, status) => {
    const publish = () => {
      throw new HooklineError(code);
    };
    await using ingress = await startIngressApp({ publish });
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, body);
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, '5']);
    expect(await jsonOf(response)).toMatchObject({ error: code });
  });

  it('tells nothing of an error that has no name', async () => {
    const publish = () => {
      throw new Error('secret inside');
    };
    await using ingress = await startIngressApp({ publish });
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, body);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
  });

  it('finishes the requests in flight when it stops, and takes no others', async () => {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const ingress = await startIngressApp();
    const { publish } = ingress.delivery;
    Object.assign(ingress.delivery, {
      publish: async (record: never) => {
        started.resolve();
        await gate.promise;
        return publish(record);
      },
    });
    const inFlight = post(`${ingress.url}/webhooks/ledger-eu`, body);
    await started.promise;
    const stopping = ingress.app.close();
    await expect
      .poll(() => post(`${ingress.url}/webhooks/ledger-eu`, body).catch(() => 'refused'))
      .toBe('refused');
    gate.resolve();
    expect((await inFlight).status).toBe(200);
    await stopping;
  });
});
