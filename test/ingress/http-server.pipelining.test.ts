import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { sign, startIngressApp } from '../support/ingress-app.ts';

const requestOf = (body: string) =>
  [
    'POST /webhooks/ledger-eu HTTP/1.1',
    'Host: h',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    `X-Signature-SHA256: ${sign(body)}`,
    '',
    body,
  ].join('\r\n');
const body = '{"type":"payment-status"}';
const request = requestOf(body);

/** Sends on one connection; counts what is taken into the store, which waits until `release`. */
async function send(count: number, sent = request) {
  const stored = Promise.withResolvers<void>();
  const ingress = await startIngressApp();
  const { publish } = ingress.delivery;
  let begun = 0;
  Object.assign(ingress.delivery, {
    publish: async (record: never) => {
      begun++;
      await stored.promise;
      return publish(record);
    },
  });
  const socket = connect(ingress.port, '127.0.0.1');
  const received = new Promise<Socket>((resolve) => ingress.app.server.once('connection', resolve));
  let answers = '';
  socket.on('data', (chunk) => {
    answers += chunk.toString();
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(sent.repeat(count));
  return {
    begun: () => begun,
    refused: () => ingress.refusals.length,
    statuses: () => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    release: stored.resolve,
    closed,
    stop: () => ingress.app.close(),
    /** Resolves when all of it was read. */
    async write(more: string) {
      const { bytesRead } = await received;
      socket.write(more);
      await expect.poll(async () => (await received).bytesRead).toBe(bytesRead + more.length);
      await new Promise(setImmediate);
    },
    async [Symbol.asyncDispose]() {
      stored.resolve();
      socket.destroy();
      await ingress[Symbol.asyncDispose]();
    },
  };
}

describe('requests in a pipeline', () => {
  it('are answered, 16 of them', async () => {
    await using sender = await send(16);
    await expect.poll(sender.begun).toBe(16);
    sender.release();
    await expect.poll(sender.statuses).toEqual(Array(16).fill('200'));
  });

  it('closes the connection of a sender that does not wait for answers', async () => {
    await using sender = await send(500);
    await sender.closed;
    expect(sender.begun()).toBeLessThanOrEqual(16);
  });

  it('closes that of a sender whose requests are refused before it reads the answers', async () => {
    await using sender = await send(500, request.replace(sign(body), '0'.repeat(64)));
    await sender.closed;
    expect(sender.refused()).toBeLessThanOrEqual(16);
  });

  it('are stored in their order, whatever their length', async () => {
    const keys: string[] = [];
    await using ingress = await startIngressApp({ publish: ({ key }) => void keys.push(`${key}`) });
    const lengths = [100, 20_000, 200, 40_000, 300, 60_000, 400];
    const bodies = lengths.map((bytes, n) =>
      JSON.stringify({ type: 'payment-status', entityId: `e-${n}`, payload: 'x'.repeat(bytes) }),
    );
    const socket = connect(ingress.port, '127.0.0.1');
    socket.write(bodies.map(requestOf).join(''));
    await expect.poll(() => keys.length).toBe(lengths.length);
    expect(keys).toEqual(lengths.map((_, n) => `e-${n}`));
    socket.destroy();
  });

  it('are answered where a stop begins while the rest of a later one is discarded', async () => {
    const refused = request.replace('application/json', 'text/plain');
    await using sender = await send(1, request + refused.slice(0, -5));
    await expect.poll(() => [sender.begun(), sender.refused()]).toEqual([1, 1]);
    const stopped = sender.stop();
    await sender.write(refused.slice(-5));
    sender.release();
    await sender.closed;
    expect(sender.statuses()[0]).toBe('200');
    await stopped;
  });

  it('end with one that offers another protocol: no answer is taken for that of one behind it, which is dropped', async () => {
    await using ingress = await startIngressApp();
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk';
    const socket = connect(ingress.port, '127.0.0.1');
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk.toString();
    });
    socket.on('error', () => {});
    let isClosed = false;
    socket.once('close', () => {
      isClosed = true;
    });
    socket.write(request.replace('Host: h', `Host: h\r\n${offer}`) + requestOf('{"type":"x","n":2}'));
    await expect.poll(() => answers).toContain('eventId');
    socket.write(requestOf('{"type":"x","n":3}'));
    await expect.poll(() => isClosed || answers.split('eventId').length > 2).toBe(true);
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(1);
    expect(answers).toMatch(/^connection: close/im);
  });
});
