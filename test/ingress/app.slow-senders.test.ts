import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { post, sign, startIngressApp } from '../support/ingress-app.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const small = '{"type":"payment-status","entityId":"e-1"}';
const message = (bytes: number) => `{"type":"payment-status","x":"${'x'.repeat(bytes)}"}`;

type Ingress = Awaited<ReturnType<typeof startIngressApp>>;

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A bare connection, and all that it was answered. */
async function open(ingress: Ingress) {
  const socket = connect(ingress.port, '127.0.0.1');
  sockets.push(socket);
  const connection = { socket, answered: '' };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    connection.answered += String(chunk);
  });
  await once(socket, 'connect');
  return connection;
}

const headOf = (body: string, { ref = 'ledger-eu', signature = sign(body) } = {}) =>
  `POST /webhooks/${ref} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
  `X-Signature-SHA256: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n`;

/** Connections that go on sending this body with a wrong signature, as fast as they are read. */
async function flood(ingress: Ingress, count: number, body: string) {
  const request = headOf(body, { signature: 'ab'.repeat(32) }) + body;
  for (let n = 0; n < count; n++) {
    const { socket } = await open(ingress);
    const send = () => {
      while (!socket.destroyed && socket.write(request));
    };
    socket.on('drain', send);
    send();
  }
}

describe('a slow body', () => {
  it('gives way to one that waits for its memory: 503, and the other 200', async () => {
    await using ingress = await startIngressApp({
      maxBodyBytes: 16 * MIB,
      largeMemory: 4 * MIB,
      admissionWaitMs: 10_000,
    });
    const body = message(3 * MIB);
    const slow = await open(ingress);
    slow.socket.write(headOf(body) + body.slice(0, MIB));
    await until('it has memory', () => ingress.memory.large.taken > 0);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, message(2 * MIB))).status).toBe(200);
    await until('it is answered', () => slow.answered !== '');
    expect(slow.answered).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 5[\s\S]*NO_ROOM/i);
    expect(ingress.memory.takeEvicted(1)).toBe(1);
    // What it still sends lands in nobody's memory.
    slow.socket.write('y'.repeat(MIB));
    const next = message(3 * MIB - 1_000);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, next)).status).toBe(200);
    expect(ingress.seen.records.at(-1)?.value?.includes(next)).toBe(true);
    await until('all memory is given back', () => ingress.memory.large.taken === 0);
    slow.socket.destroy();
  });

  it('gives way behind other requests in its pipeline too', async () => {
    await using ingress = await startIngressApp({
      maxBodyBytes: 16 * MIB,
      largeMemory: 4 * MIB,
      admissionWaitMs: 10_000,
      requestTimeoutMs: 60_000,
    });
    const body = message(3 * MIB);
    const slow = await open(ingress);
    const first = headOf('{}', { ref: 'nobody' });
    slow.socket.write(`${first}{}${headOf(body, { signature: 'ab'.repeat(32) })}${body.slice(0, 100_000)}`);
    await until('it has memory', () => ingress.memory.large.taken > 0);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, message(2 * MIB))).status).toBe(200);
    await until('all memory is given back', () => ingress.memory.large.taken === 0);
    expect([...ingress.memory.open]).toEqual([]);
  });

  it('on a connection that has delivered a verified webhook does not give way to one on another', async () => {
    await using ingress = await startIngressApp({
      maxBodyBytes: 16 * MIB,
      largeMemory: 4 * MIB,
      admissionWaitMs: 2_500,
    });
    const body = message(3 * MIB);
    const slow = await open(ingress);
    slow.socket.write(headOf(small) + small);
    await until('it is proven', () => slow.answered.startsWith('HTTP/1.1 200'));
    slow.socket.write(headOf(body) + body.slice(0, MIB));
    await until('it has memory', () => ingress.memory.large.taken > 0);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, message(2 * MIB))).status).toBe(503);
    slow.answered = '';
    slow.socket.write(body.slice(MIB));
    await until('it is stored', () => slow.answered.startsWith('HTTP/1.1 200'));
  });

  it('that cannot pass is not kept, and its answer is that of a wrong signature', async () => {
    await using ingress = await startIngressApp({ maxBodyBytes: 16 * MIB });
    const body = message(900_000);
    const unknown = await open(ingress);
    unknown.socket.write(headOf(body, { ref: 'nobody' }) + body.slice(0, -1));
    const known = await open(ingress);
    known.socket.write(headOf(body, { signature: 'ab'.repeat(32) }) + body.slice(0, -1));
    await until('one of them is held', () => ingress.memory.small.taken >= body.length - 1);
    expect(ingress.memory.small.taken).toBeLessThan(body.length + 20_000);
    for (const { socket } of [unknown, known]) socket.write('}');
    await until('both are answered', () => unknown.answered !== '' && known.answered !== '');
    const answers = [unknown, known].map(({ answered }) => answered.replace(/date:.*\r\n/i, ''));
    expect(answers[0]).toMatch(/^HTTP\/1\.1 401 [\s\S]*UNAUTHENTIC/);
    expect(answers[0]).toBe(answers[1]);
    expect(ingress.memory.small.taken).toBe(0);
  });

  it('below the least rate is answered 408', async () => {
    let now = 0;
    await using ingress = await startIngressApp({ requestTimeoutMs: 60_000, now: () => now });
    const slow = await open(ingress);
    slow.socket.write(headOf(small) + small.slice(0, 5));
    await until('it is there', () => ingress.memory.small.taken > 0);
    now = 5_001;
    ingress.memory.open.sweep();
    await until('it is answered', () => slow.answered !== '');
    expect(slow.answered).toMatch(/^HTTP\/1\.1 408 [\s\S]*BODY_TOO_SLOW/);
    expect(ingress.memory.small.taken).toBe(0);
    slow.socket.destroy();
  });
});

describe('honest webhooks are stored', () => {
  it.each([
    ['the largest bodies', 12 * MIB],
    ['bodies just below 1 MiB', MIB - 1_000],
  ])('beside a flood of wrong signatures over %s', async (_, bytes) => {
    await using ingress = await startIngressApp({
      maxBodyBytes: 16 * MIB,
      smallMemory: 8 * MIB,
      largeMemory: 64 * MIB,
      admissionWaitMs: 10_000,
      pace: { beside: 44 * MIB, alone: 44 * MIB },
    });
    await flood(ingress, 12, message(bytes));
    const refused = ingress.refusals.length;
    for (const body of [small, message(500_000), message(2 * MIB)])
      expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
    await until('the flood goes on', () => ingress.refusals.length > refused);
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  it('when a hundred bodies of almost 1 MiB come at once, in memory for four', async () => {
    await using ingress = await startIngressApp({
      maxBodyBytes: 16 * MIB,
      smallMemory: 8 * MIB,
      admissionWaitMs: 60_000,
      requestTimeoutMs: 60_000,
    });
    const body = message(MIB - 1_000);
    const url = `${ingress.url}/webhooks/ledger-eu`;
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => (await post(url, body)).status),
    );
    expect(answers).toEqual(Array(100).fill(200));
    expect(ingress.memory.small.taken).toBe(0);
  });
});
