import { describe, expect, it } from 'vitest';
import { exchange, sign, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status"}';
const signed = ['Host: h', 'Content-Type: application/json', `X-Signature-SHA256: ${sign(body)}`];
const long = `Content-Length: ${body.length}`;
const chunkedBody = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
/** A second request, hidden where a proxy could take it for a part of the first one's body. */
const hidden = `POST /webhooks/hidden HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n`;

const webhook = (headers: readonly string[], content: string, line = 'POST /webhooks/ledger-eu HTTP/1.1') =>
  `${[line, ...signed, ...headers].join('\r\n')}\r\n\r\n${content}`;

const CHUNKED = 'Transfer-Encoding: chunked';

describe('the framing of a request', () => {
  it.each([
    ['Content-Length and Transfer-Encoding', webhook([long, CHUNKED], chunkedBody)],
    ['Transfer-Encoding and Content-Length', webhook([CHUNKED, long], chunkedBody)],
    ['two different Content-Lengths', webhook([long, 'Content-Length: 3'], body)],
    ['two Content-Lengths that are the same', webhook([long, long], body)],
    ['a list of Content-Lengths', webhook([`${long}, ${body.length}`], body)],
    ['a signed Content-Length', webhook([`Content-Length: +${body.length}`], body)],
    ['a negative Content-Length', webhook(['Content-Length: -1'], body)],
    ['a hexadecimal Content-Length', webhook(['Content-Length: 0x19'], body)],
    ['a Content-Length beyond 64 bits', webhook([`Content-Length: ${'9'.repeat(30)}`], body)],
    ['two Transfer-Encodings', webhook([CHUNKED, 'Transfer-Encoding: identity'], chunkedBody)],
    ['chunked twice', webhook(['Transfer-Encoding: chunked, chunked'], chunkedBody)],
    ['another coding before chunked', webhook(['Transfer-Encoding: gzip, chunked'], chunkedBody)],
    ['an unknown coding', webhook(['Transfer-Encoding: xchunked'], chunkedBody)],
    ['a vertical tab in the coding', webhook(['Transfer-Encoding: \u000bchunked'], chunkedBody)],
    ['chunked by HTTP/1.0', webhook([CHUNKED], chunkedBody, 'POST /webhooks/ledger-eu HTTP/1.0')],
    ['a folded header', webhook([long, 'X-Folded: a\r\n b'], body)],
    ['a folded Transfer-Encoding', webhook(['Transfer-Encoding:\r\n chunked'], chunkedBody)],
    ['a space before the colon', webhook([`Content-Length : ${body.length}`], body)],
    ['a header without a name', webhook([long, ': x'], body)],
    ['a header without a colon', webhook([long, 'X-Nothing'], body)],
    ['a zero byte in a header', webhook([long, 'X-Zero: a\0b'], body)],
    ['a bare CR in a header', webhook([long, 'X-Bare: a\rb'], body)],
    ['a bare LF at the end of a header', webhook([`X-Bare: a\n${long}`], body)],
    ['bare LFs at the end of the head', webhook([long], '').replace('\r\n\r\n', '\n\n') + body],
    ['no Host', webhook([long], body).replace('Host: h\r\n', '')],
    ['two Hosts', webhook(['host: h', long], body)],
    ['two Hosts by HTTP/1.0', webhook(['Host: i', long], body, 'POST /webhooks/ledger-eu HTTP/1.0')],
    ['HTTP/0.9', webhook([long], body, 'POST /webhooks/ledger-eu HTTP/0.9')],
    ['HTTP/2 in the line', webhook([long], body, 'POST /webhooks/ledger-eu HTTP/2.0')],
    ['no version', webhook([long], body, 'POST /webhooks/ledger-eu')],
    ['a space in the path', webhook([long], body, 'POST /webhooks/ledger-eu x HTTP/1.1')],
    ['a chunk size that is none', webhook([CHUNKED], `xyz\r\n${body}\r\n0\r\n\r\n`)],
    ['a signed chunk size', webhook([CHUNKED], `+19\r\n${body}\r\n0\r\n\r\n`)],
    ['a chunk size with 0x', webhook([CHUNKED], `0x19\r\n${body}\r\n0\r\n\r\n`)],
    ['a chunk size beyond 64 bits', webhook([CHUNKED], `${'f'.repeat(17)}\r\n${body}`)],
    ['a chunk longer than its size', webhook([CHUNKED], `1\r\n${body}\r\n0\r\n\r\n`)],
    ['a bare LF behind a chunk size', webhook([CHUNKED], `19\n${body}\r\n0\r\n\r\n`)],
    ['chunk extensions over 16 KiB', webhook([CHUNKED], `19;${'x'.repeat(20_000)}\r\n${body}\r\n0\r\n\r\n`)],
  ])('%s: 400, and the connection is closed', async (_, request) => {
    await using ingress = await startIngressApp();
    const answer = await exchange(ingress.port, [request, hidden]);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/"error":"REQUEST_MALFORMED"/);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(ingress.seen.records).toEqual([]);
    expect(ingress.refusals.map(({ code }) => code)).toEqual(['REQUEST_MALFORMED']);
  });

  it.each([
    ['more than 100 headers', Array.from({ length: 101 }, (_, n) => `X-${n}: 1`)],
    ['thousands of headers', Array.from({ length: 4_000 }, () => 'a:')],
    ['more than 16 KiB', [`X: ${'x'.repeat(17_000)}`]],
  ])('%s: 431, and the connection is closed', async (_, headers) => {
    await using ingress = await startIngressApp();
    const answer = await exchange(ingress.port, [webhook([long, ...headers], body), hidden]);
    expect(answer).toMatch(/^HTTP\/1\.1 431 [\s\S]*connection: close[\s\S]*"error":"HEADERS_TOO_LARGE"/i);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  it('answers requests of different refs on one connection in their order', async () => {
    const first = Promise.withResolvers<void>();
    await using ingress = await startIngressApp();
    const { publish } = ingress.delivery;
    Object.assign(ingress.delivery, {
      publish: async (record: never) => {
        await first.promise;
        return publish(record);
      },
    });
    const unknown = webhook([long], body, 'POST /webhooks/unknown HTTP/1.1');
    const last = webhook([long, 'Connection: close'], body, 'POST /webhooks/other HTTP/1.1');
    const answers = exchange(ingress.port, [webhook([long], body), unknown, last]);
    await expect.poll(() => ingress.refusals.length).toBe(2);
    first.resolve();
    expect((await answers).match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 401',
      'HTTP/1.1 401',
    ]);
  });

  it.each([
    ['garbage', 'nonsense\r\n\r\n'],
    ['a request after Connection: close', hidden],
  ])('a webhook that is being stored gets its own answer when %s follows it', async (_, next) => {
    const stored = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    await using ingress = await startIngressApp();
    const { publish } = ingress.delivery;
    Object.assign(ingress.delivery, {
      publish: async (record: never) => {
        began.resolve();
        await stored.promise;
        return publish(record);
      },
    });
    const closing = next === hidden ? ['Connection: close'] : [];
    const answer = exchange(ingress.port, [webhook([long, ...closing], body), next]);
    await began.promise;
    await expect.poll(() => ingress.refusals.length).toBe(1);
    stored.resolve();
    expect((await answer).match(/HTTP\/1\.1 \d+/g)?.[0]).toBe('HTTP/1.1 200');
  });

  it('what was answered before its body came gets no second answer when the body is malformed', async () => {
    await using ingress = await startIngressApp();
    const refused = webhook([CHUNKED], '5\r\nhello\r\n').replace('application/json', 'text/plain');
    const answer = await exchange(ingress.port, [refused, 'xyz\r\n']);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415']);
    expect(ingress.refusals.map(({ code }) => code)).toEqual(['MEDIA_TYPE_UNSUPPORTED']);
  });
});
