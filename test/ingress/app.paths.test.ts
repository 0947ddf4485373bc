import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exchange, sign, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status"}';
const MARK = 'm4rk-of-the-sender';
const MIB = 1024 * 1024;
/** What is read of one connection, and what the system takes in for it. */
const MOST_BYTES = 4 * MIB;

const request = (line: string, headers: readonly string[] = [], content = '') =>
  [`${line} HTTP/1.1`, 'Host: h', `Content-Length: ${content.length}`, ...headers, '', content].join('\r\n');

const CASES: readonly (readonly [what: string, line: string, headers: readonly string[], answer: string])[] =
  [
    ['a bad escape', `POST /webhooks/%zz${MARK}`, [], '400 REQUEST_MALFORMED'],
    ['a bad escape elsewhere', `GET /%e0%a4%a${MARK}`, [], '400 REQUEST_MALFORMED'],
    ['a bad escape, of a type unknown', `PUT /%zz${MARK}`, ['Content-Type: a'], '400 REQUEST_MALFORMED'],
    ['an unknown path', `POST /${MARK}`, [], '404 NOT_FOUND'],
    ['an unknown path, of a type unknown', `POST /${MARK}`, ['Content-Type: ;;'], '404 NOT_FOUND'],
    ['a path below a ref', `POST /webhooks/a/${MARK}`, [], '404 NOT_FOUND'],
    ['two slashes', `POST //webhooks/${MARK}`, [], '404 NOT_FOUND'],
    ['GET', `GET /webhooks/${MARK}`, [], '404 NOT_FOUND'],
    ['PUT', `PUT /webhooks/${MARK}`, [], '404 NOT_FOUND'],
    ['OPTIONS', `OPTIONS /webhooks/${MARK}`, [], '404 NOT_FOUND'],
    ['OPTIONS of all', `OPTIONS *`, [], '404 NOT_FOUND'],
    ['QUERY without a type', `QUERY /${MARK}`, [], '404 NOT_FOUND'],
    ['PROPFIND', `PROPFIND /${MARK}`, [], '404 NOT_FOUND'],
    ['a method that nobody knows', `${MARK} /`, [], '400 REQUEST_MALFORMED'],
    ['a method in small letters', `post /webhooks/${MARK}`, [], '400 REQUEST_MALFORMED'],
    ['an upgrade', `GET /${MARK}`, ['Connection: Upgrade', 'Upgrade: websocket'], '404 NOT_FOUND'],
    ['an expectation that nobody knows', `POST /${MARK}`, ['Expect: magic'], '404 NOT_FOUND'],
    ['an absolute path elsewhere', `POST http://h/${MARK}`, [], '404 NOT_FOUND'],
    ['a long path', `POST /${MARK.repeat(600)}`, [], '404 NOT_FOUND'],
    ['a path that is too long', `POST /${MARK.repeat(1_000)}`, [], '431 HEADERS_TOO_LARGE'],
    ['a header that is too long', 'POST /webhooks/a', [`X: ${MARK.repeat(1_000)}`], '431 HEADERS_TOO_LARGE'],
  ];

describe('what is no webhook', () => {
  it.each(CASES)(
    '%s is answered in the words of the contract, without a byte of the path',
    async (...one) => {
      const [, line, headers, expected] = one;
      const [status = '', code = ''] = expected.split(' ');
      await using ingress = await startIngressApp();
      const answer = await exchange(ingress.port, [request(line, headers, body)]);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      const [head = '', json = ''] = answer.split('\r\n\r\n');
      expect(JSON.parse(json)).toEqual({ error: code, message: expect.any(String) });
      expect(head).toMatch(/\r\nconnection: close/i);
      expect(answer).not.toContain(MARK);
      expect(ingress.refusals.map((refusal) => refusal.code)).toEqual([code]);
    },
  );

  it.each([
    ['a ref that is too long', 'r'.repeat(64)],
    ['a ref as long as a head may be', 'r'.repeat(15_000)],
    ['a ref in capitals', 'LEDGER-EU'],
    ['a ref of escaped slashes', '..%2f..%2fetc%2fpasswd'],
    ['a ref of a zero byte', '%00'],
  ])('%s is an unknown ref: 401', async (_, ref) => {
    await using ingress = await startIngressApp();
    const headers = [
      'Content-Type: application/json',
      `X-Signature-SHA256: ${sign(body)}`,
      'Connection: close',
    ];
    const answer = await exchange(ingress.port, [request(`POST /webhooks/${ref}`, headers, body)]);
    expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*UNAUTHENTIC/);
    expect(answer).not.toContain(ref);
  });

  it('answers HEAD without a body, and CONNECT', async () => {
    await using ingress = await startIngressApp();
    expect(await exchange(ingress.port, [request('HEAD /')])).toMatch(/^HTTP\/1\.1 404 [\s\S]*\r\n\r\n$/);
    expect(await exchange(ingress.port, [request('CONNECT h:443')])).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('takes a webhook in the absolute form, and by HTTP/1.0', async () => {
    await using ingress = await startIngressApp();
    const headers = ['Content-Type: application/json', `X-Signature-SHA256: ${sign(body)}`];
    const absolute = request('POST http://h/webhooks/ledger-eu', [...headers, 'Connection: close'], body);
    const old = request('POST /webhooks/ledger-eu', headers, body).replace('HTTP/1.1\r\nHost: h', 'HTTP/1.0');
    for (const one of [absolute, old])
      expect(await exchange(ingress.port, [one])).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('whatever the path is, answers with a row of the error table and none of its bytes', async () => {
    await using ingress = await startIngressApp();
    const path = fc.string({ unit: fc.constantFrom(...'%/.?#;:@ab0Z~*\\é\u0001'), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(path, async (odd) => {
        const answer = await exchange(ingress.port, [request(`PUT /${odd}${MARK}`)]);
        expect(answer).toMatch(/^HTTP\/1\.1 4\d\d [\s\S]*"error":"(REQUEST_MALFORMED|NOT_FOUND)"/);
        expect(answer).not.toContain(MARK);
      }),
      { numRuns: 200 },
    );
    expect(ingress.refusals.some(({ code }) => code === 'INTERNAL')).toBe(false);
  });
});

/** Sends `head`, then `piece` again and again, as fast as it is taken, until the connection ends. @returns bytes taken */
async function pour(port: number, head: string, piece: string): Promise<number> {
  // Goes on sending when the other side has ended.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.resume();
  socket.write(head);
  const write = () => {
    while (!socket.destroyed && socket.bytesWritten < 64 * MIB && socket.write(piece));
  };
  socket.on('drain', write);
  write();
  await closed;
  return socket.bytesWritten - socket.writableLength;
}

describe('a hostile path', () => {
  const megabyte = `100000\r\n${'x'.repeat(MIB)}\r\n`;
  const chunked = ['Transfer-Encoding: chunked'];
  const headOf = (line: string, headers: readonly string[]) =>
    `${[`${line} HTTP/1.1`, 'Host: h', ...headers].join('\r\n')}\r\n\r\n`;

  it.each([
    ['a bad escape', headOf('POST /webhooks/%zz', chunked), megabyte],
    ['an unknown path', headOf('POST /nowhere', chunked), megabyte],
    ['an unknown path, of a length', headOf('POST /nowhere', [`Content-Length: ${64 * MIB}`]), megabyte],
    [
      'an unknown path, of a type unknown',
      headOf('POST /nowhere', [...chunked, 'Content-Type: ;']),
      megabyte,
    ],
    ['an unknown expectation', headOf('POST /nowhere', [...chunked, 'Expect: magic']), megabyte],
    ['a GET with a body', headOf('GET /', chunked), megabyte],
    [
      'an upgrade with a body',
      headOf('POST /', [...chunked, 'Connection: upgrade', 'Upgrade: h2c']),
      megabyte,
    ],
    ['requests in a pipeline', '', request('POST /nowhere', [], 'x'.repeat(50_000))],
    ['bad escapes in a pipeline', '', request('POST /%zz', [], 'x'.repeat(50_000))],
    ['what is no HTTP', 'nonsense\r\n\r\n', megabyte],
    ['CONNECT', headOf('CONNECT h:1', []), megabyte],
    ['no Host', 'POST /nowhere HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n', megabyte],
  ])('%s: not read beyond 4 MiB', async (_, head, piece) => {
    await using ingress = await startIngressApp();
    const sockets: { bytesRead: number }[] = [];
    ingress.app.server.on('connection', (socket) => sockets.push(socket));
    await pour(ingress.port, head, piece);
    expect(sockets[0]?.bytesRead).toBeLessThan(MOST_BYTES);
  });
});
