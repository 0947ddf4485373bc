import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createTlsFiles } from '../../src/ingress/http-server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { selfSigned } from '../support/certificates.ts';
import { exchange, post, startIngressApp } from '../support/ingress-app.ts';

describe('a connection that sends no whole request', () => {
  it('may take 20 s for the head of a request, and 72 s until the next one', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 60_000 });
    const { server } = ingress.app;
    expect([server.headersTimeout, server.requestTimeout, server.keepAliveTimeout]).toEqual([
      20_000, 60_000, 72_000,
    ]);
    expect(server.maxHeadersCount).toBeNull();
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, '{}');
    expect(response.headers.get('keep-alive')).toBe('timeout=72');
  });

  it('is answered 408 when half a head is all that came', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 400 });
    const answer = await exchange(ingress.port, ['POST /webhooks/ledger-eu HTTP/1.1\r\nHo']);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*BODY_TOO_SLOW/);
  });

  it('is answered 408 when half a head is all that came after a webhook', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 400 });
    const first =
      'POST /webhooks/ledger-eu HTTP/1.1\r\nHost: h\r\nContent-Type: text/x\r\nContent-Length: 0\r\n\r\n';
    const answer = await exchange(ingress.port, [first, 'POST /webhooks/led']);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415', 'HTTP/1.1 408']);
  });

  it('is closed without an answer when nothing came, and is no refused webhook', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 400 });
    expect(await exchange(ingress.port, [])).toBe('');
    expect([ingress.ends, ingress.refusals]).toEqual([['silent'], []]);
  });

  it.each([
    ['half a TLS handshake', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ['nothing where TLS is spoken', Buffer.alloc(0)],
    ['plain HTTP where TLS is spoken', Buffer.from('GET / HTTP/1.1\r\nHost: h\r\n\r\n')],
  ])('is closed when it sent %s, and is no refused webhook', async (_, bytes) => {
    using files = selfSigned();
    const tls = createTlsFiles(
      { ...files, clientCaFile: undefined },
      { renewed() {}, unusable() {} },
      systemClock,
    );
    await using ingress = await startIngressApp({ tls, requestTimeoutMs: 400 });
    const socket = connect(ingress.port, '127.0.0.1');
    socket.resume().write(bytes);
    await once(socket, 'close');
    await expect.poll(() => ingress.ends).toEqual(['tls_failed']);
    expect(ingress.refusals).toEqual([]);
    await tls.stop();
  });
});
