import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createTlsFiles } from '../../src/ingress/http-server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { selfSigned } from '../support/certificates.ts';
import { post, sign, startIngressApp } from '../support/ingress-app.ts';
import { hasIpv6, NEEDS_IPV6 } from '../support/ip-families.ts';

const body = '{"type":"payment-status"}';
const webhook = (signature: string) =>
  `POST /webhooks/ledger-eu HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n` +
  `X-Signature-SHA256: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A connection that stays open, with what it was answered. */
class Connection {
  text = '';
  isOpen = true;
  readonly socket: Socket;
  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isOpen = false;
    });
  }
  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }
  async send(signature = sign(body)): Promise<string> {
    this.text = '';
    this.socket.write(webhook(signature));
    await expect.poll(() => this.text).toContain('}');
    return this.text.slice(9, 12);
  }
}

describe('MAX_CONNECTIONS', () => {
  it('a new connection closes the longest open one that never delivered a verified webhook', async () => {
    await using ingress = await startIngressApp({ maxConnections: 4 });
    const open = async () => {
      const one = await Connection.open(ingress.port);
      await expect.poll(() => ingress.limits.open).toBeGreaterThan(0);
      return one;
    };
    const proven = await open();
    expect(await proven.send()).toBe('200');
    const refused = await open();
    expect(await refused.send('0'.repeat(64))).toBe('401');
    const silent = await open();
    const halfHead = await open();
    halfHead.socket.write('POST /webhooks/ledger-eu HTTP/1.1\r\nHo');
    await expect.poll(() => ingress.limits.open).toBe(4);

    const honest = await open();
    await expect.poll(() => refused.isOpen).toBe(false);
    expect(await honest.send()).toBe('200');
    await open();
    await expect.poll(() => silent.isOpen).toBe(false);
    await open();
    await expect.poll(() => halfHead.isOpen).toBe(false);
    expect([proven.isOpen, honest.isOpen]).toEqual([true, true]);
    expect([await proven.send(), await honest.send()]).toEqual(['200', '200']);
    expect(ingress.ends).toEqual(['evicted', 'evicted', 'evicted']);
    expect(ingress.limits.open).toBe(4);
  });

  it('refuses the new connection where all others have delivered verified webhooks', async () => {
    await using ingress = await startIngressApp({ maxConnections: 2 });
    const proven = [await Connection.open(ingress.port), await Connection.open(ingress.port)];
    for (const one of proven) expect(await one.send()).toBe('200');
    const late = await Connection.open(ingress.port);
    await expect.poll(() => late.isOpen).toBe(false);
    expect(ingress.ends).toEqual(['limit']);
    proven[0]?.socket.destroy();
    await expect.poll(() => ingress.limits.open).toBe(1);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
  });

  it.each(['plain', 'TLS'])(
    'one whose body arrives stays while silent ones come and go (%s)',
    async (kind) => {
      using files = selfSigned();
      const tls = createTlsFiles(
        { ...files, clientCaFile: undefined },
        { renewed() {}, unusable() {} },
        systemClock,
      );
      await using ingress = await startIngressApp({ maxConnections: 20, ...(kind === 'TLS' && { tls }) });
      const { port } = ingress;
      const socket =
        kind === 'TLS' ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port);
      await once(socket, kind === 'TLS' ? 'secureConnect' : 'connect');
      socket.setNoDelay(true);
      const slow = new Connection(socket);
      const sent = webhook(sign(body));
      const pieces = 40;
      let opened = 1;
      const size = Math.ceil(sent.length / pieces);
      for (let n = 0; n < pieces; n++) {
        socket.write(sent.slice(n * size, (n + 1) * size));
        // As many in all as would push it out many times.
        for (let others = 0; others < 8; others++) {
          (await Connection.open(port)).socket.write('POST');
          opened++;
          await expect.poll(() => ingress.ends.length + ingress.limits.open).toBe(opened);
        }
      }
      await expect.poll(() => slow.text).toContain('}');
      expect(slow.text.slice(9, 12)).toBe('200');
      expect(ingress.ends).toContain('evicted');
      socket.destroy();
      await tls.stop();
    },
  );

  it('where all are busy, one of them makes way', async () => {
    await using ingress = await startIngressApp({ maxConnections: 40 });
    const all = await Promise.all(Array.from({ length: 40 }, () => Connection.open(ingress.port)));
    for (const { socket } of all) socket.write('POST /webhooks/ledger-eu HTTP/1.1\r\nHo');
    await expect.poll(() => ingress.limits.open).toBe(40);
    for (let n = 0; n < 40; n++) {
      for (const { socket, isOpen } of all) if (isOpen) socket.write('s');
      expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
    }
    expect(ingress.ends).toContain('evicted');
    for (const { socket } of all) socket.destroy();
  });

  it('a flood of silent connections keeps nobody out', async () => {
    await using ingress = await startIngressApp({ maxConnections: 50 });
    const flood = await Promise.all(Array.from({ length: 500 }, () => Connection.open(ingress.port)));
    for (let n = 0; n < 5; n++) {
      expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
    }
    expect(ingress.limits.open).toBeLessThanOrEqual(50);
    for (const { socket } of flood) socket.destroy();
    await expect.poll(() => ingress.limits.open).toBeLessThanOrEqual(5);
  });

  it('a stop does not wait for connections that have not sent a whole head', async () => {
    const ingress = await startIngressApp();
    const silent = await Connection.open(ingress.port);
    const halfHead = await Connection.open(ingress.port);
    halfHead.socket.write('POST /webhooks/ledger-eu HTTP/1.1\r\nHo');
    await expect.poll(() => ingress.limits.open).toBe(2);
    await ingress.app.close();
    await expect.poll(() => silent.isOpen || halfHead.isOpen).toBe(false);
  });

  it('over TLS counts what the TLS connection delivered, and half a handshake as nothing', async () => {
    using files = selfSigned();
    const tls = createTlsFiles(
      { ...files, clientCaFile: undefined },
      { renewed() {}, unusable() {} },
      systemClock,
    );
    await using ingress = await startIngressApp({ maxConnections: 2, tls });
    const options = { port: ingress.port, host: '127.0.0.1', rejectUnauthorized: false };
    const secure = connectTls(options);
    await once(secure, 'secureConnect');
    const proven = new Connection(secure);
    expect(await proven.send()).toBe('200');
    const half = await Connection.open(ingress.port);
    half.socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]));
    await expect.poll(() => ingress.limits.open).toBe(2);
    const other = connectTls(options);
    await once(other, 'secureConnect');
    await expect.poll(() => half.isOpen).toBe(false);
    expect(await proven.send()).toBe('200');
    expect(await new Connection(other).send()).toBe('200');
    expect(ingress.ends[0]).toBe('evicted');
    await tls.stop();
  });
});

describe('MAX_CONNECTIONS_PER_SOURCE', () => {
  it('closes connections above it, and takes others when one has ended', async () => {
    await using ingress = await startIngressApp({ maxPerSource: 2 });
    const open = [await Connection.open(ingress.port), await Connection.open(ingress.port)];
    for (const one of open) expect(await one.send()).toBe('200');
    const third = await Connection.open(ingress.port);
    await expect.poll(() => third.isOpen).toBe(false);
    expect(ingress.ends).toEqual(['source_limit']);
    open[0]?.socket.destroy();
    await expect.poll(() => ingress.limits.open).toBe(1);
    expect(await (await Connection.open(ingress.port)).send()).toBe('200');
  });

  it('counts the addresses of an IPv6 /64 as one: a host has all of them', async () => {
    await using ingress = await startIngressApp({ maxPerSource: 2, trustedProxies: ['127.0.0.0/8'] });
    const { limits } = ingress;
    const ends = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::7'].map((address) => limits.beginRequest(address));
    expect(() => limits.beginRequest('2001:db8:1:2::3')).toThrow('MAX_CONNECTIONS_PER_SOURCE');
    limits.beginRequest('2001:db8:1:3::1');
    ends[1]?.();
    limits.beginRequest('2001:db8:1:2::3');
  });

  it.skipIf(!hasIpv6)(`counts IPv4 peers on a socket of both families${NEEDS_IPV6}`, async () => {
    await using ingress = await startIngressApp({ host: '::', maxPerSource: 2 });
    const open = [await Connection.open(ingress.port), await Connection.open(ingress.port)];
    await expect.poll(() => ingress.limits.open).toBe(2);
    const third = await Connection.open(ingress.port);
    await expect.poll(() => third.isOpen).toBe(false);
    const { status } = await post(`http://[::1]:${ingress.port}/webhooks/ledger-eu`, body);
    expect([status, open.map(({ isOpen }) => isOpen)]).toEqual([200, [true, true]]);
  });

  it('behind TRUSTED_PROXIES counts requests in progress per forwarded address, and answers 503', async () => {
    const stored = Promise.withResolvers<void>();
    await using ingress = await startIngressApp({ maxPerSource: 2, trustedProxies: ['127.0.0.0/8'] });
    const { publish } = ingress.delivery;
    let waiting = 0;
    Object.assign(ingress.delivery, {
      publish: async (record: never) => {
        waiting++;
        await stored.promise;
        return publish(record);
      },
    });
    const from = (address: string) =>
      post(`${ingress.url}/webhooks/ledger-eu`, body, { 'x-forwarded-for': address });
    const inProgress = [from('203.0.113.1'), from('::ffff:203.0.113.1'), from('203.0.113.2')];
    await expect.poll(() => waiting).toBe(3);
    const refused = await from('203.0.113.1');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await refused.text()).toContain('SOURCE_BUSY');
    stored.resolve();
    for (const one of inProgress) expect((await one).status).toBe(200);
    expect((await from('203.0.113.1')).status).toBe(200);
    expect(ingress.ends).toEqual([]);
  });
});
