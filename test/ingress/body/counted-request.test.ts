import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { sign, startIngressApp } from '../../support/ingress-app.ts';
import { until } from '../../support/until.ts';

const message = (bytes: number) => `{"type":"payment-status","entityId":"e-1","x":"${'x'.repeat(bytes)}"}`;

/** A webhook whose body comes in chunks of this size. */
function chunked(body: string, size: number, signature = sign(body), ref = 'ledger-eu'): string {
  const parts = body.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [];
  const head = `POST /webhooks/${ref} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
  return `${head}X-Signature-SHA256: ${signature}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
}

/** A bare connection, and the statuses that it was answered. */
async function open(port: number) {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  let answered = '';
  socket.on('data', (data) => {
    answered += String(data);
  });
  await once(socket, 'connect');
  const statuses = () => [...answered.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  const answers = (count: number) => until('it is answered', () => statuses().length >= count);
  return { socket, statuses, answers };
}

describe('a body in chunks', () => {
  it.each([
    ['of one byte, few of them', message(400), 1],
    ['of 32 bytes, many of them', message(200_000), 32],
  ])('%s is taken', async (_, body, size) => {
    await using ingress = await startIngressApp();
    const { socket, statuses, answers } = await open(ingress.port);
    socket.write(chunked(body, size));
    await answers(1);
    expect(statuses()).toEqual([200]);
  });

  it.each(['ledger-eu', 'nobody'])('of one byte, many of them, is refused: %s', async (ref) => {
    await using ingress = await startIngressApp();
    const { socket, statuses, answers } = await open(ingress.port);
    const body = message(20_000);
    socket.write(chunked(body, 1, sign(body), ref));
    await answers(1);
    expect([statuses(), ingress.refusals[0]?.code]).toEqual([[400], 'BODY_FRAGMENTED']);
    socket.destroy();
    await until('nothing is held', () => ingress.memory.small.taken === 0);
    expect(ingress.refusals).toHaveLength(1);
  });

  it('counts those of all requests of a connection', async () => {
    await using ingress = await startIngressApp();
    const { socket, statuses, answers } = await open(ingress.port);
    const one = chunked(message(150), 1, 'ab'.repeat(32));
    socket.write(one.repeat(8));
    await answers(3);
    await until('it is closed', () => socket.destroyed);
    expect(statuses()).toEqual([401, 401, 400]);
  });

  it('is taken whatever its chunks are on a connection that has delivered a verified webhook', async () => {
    await using ingress = await startIngressApp();
    const { socket, statuses, answers } = await open(ingress.port);
    socket.write(chunked(message(10), 1));
    await answers(1);
    socket.write(chunked(message(20_000), 1));
    await answers(2);
    expect(statuses()).toEqual([200, 200]);
  });

  it('behind one that was refused is not taken', async () => {
    await using ingress = await startIngressApp();
    const { socket, statuses, answers } = await open(ingress.port);
    socket.write(chunked(message(20_000), 1) + chunked(message(10), 1_000));
    await answers(1);
    await until('it is closed', () => socket.destroyed);
    expect([statuses(), ingress.receipts]).toEqual([[400], []]);
  });

  it('of one piece is taken on a connection that has carried many small ones of others, as one of a proxy', async () => {
    await using ingress = await startIngressApp();
    const { socket, statuses, answers } = await open(ingress.port);
    const wrong = chunked('{', 1, 'ab'.repeat(32));
    for (let sent = 0; sent < 520; sent += 10) {
      socket.write(wrong.repeat(10));
      await answers(sent + 10);
    }
    socket.write(chunked(message(2_000), 1_500));
    await answers(521);
    expect(statuses().at(-1)).toBe(200);
  });

  it('that no webhook can have is answered at once', async () => {
    // Nothing waits for the end of a time.
    await using ingress = await startIngressApp({
      clock: { ...systemClock, after: () => ({ cancel() {} }) },
    });
    const { socket, statuses, answers } = await open(ingress.port);
    socket.write(chunked(message(20_000), 1).replace('/webhooks/ledger-eu', '/elsewhere'));
    await answers(1);
    expect(statuses()).toEqual([404]);
  });

  it('takes no memory for its chunks while it is not read', async () => {
    await using ingress = await startIngressApp({ pace: { beside: 0, alone: 0 } });
    const all = await Promise.all(Array.from({ length: 50 }, () => open(ingress.port)));
    const bytes = chunked(message(60_000), 1, 'ab'.repeat(32));
    const before = process.memoryUsage().heapUsed;
    for (const { socket } of all) socket.write(bytes);
    // Each chunk would take some 200 bytes: 600 MB.
    await until('each is refused', () => ingress.refusals.length >= all.length);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6);
  });

  it('takes no more than its bytes where its chunks are just not too small', async () => {
    await using ingress = await startIngressApp({ pace: { beside: 0, alone: 0 } });
    const accepted: Socket[] = [];
    ingress.app.server.on('connection', (socket) => accepted.push(socket));
    const all = await Promise.all(Array.from({ length: 200 }, () => open(ingress.port)));
    const bytes = chunked(message(60_000), 40, 'ab'.repeat(32));
    const before = process.memoryUsage().heapUsed;
    for (const { socket } of all) socket.write(bytes);
    const came = () => accepted.every(({ bytesRead }) => bytesRead >= 60_000);
    await until('all has come', () => accepted.length === all.length && came());
    // 1,500 chunks of each, of some 200 bytes: 60 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40e6);
  });
});
