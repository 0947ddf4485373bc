import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { exchange, post, sign, startIngressApp } from '../support/ingress-app.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const small = '{"type":"payment-status","entityId":"e-1"}';
const message = (bytes: number, entityId = 'e-2') =>
  `{"type":"payment-status","entityId":"${entityId}","x":"${'x'.repeat(bytes)}"}`;

type Ingress = Awaited<ReturnType<typeof startIngressApp>>;

const headOf = (lines: readonly string[], ref = 'ledger-eu') =>
  `POST /webhooks/${ref} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${lines.join('\r\n')}\r\n\r\n`;

/** The head of a large webhook, and as much of its body as is wanted. */
async function begin(ingress: Ingress, body: string, sent: string): Promise<Socket> {
  const socket = connect(ingress.port, '127.0.0.1');
  await once(socket, 'connect');
  const head = headOf([`X-Signature-SHA256: ${sign(body)}`, `Content-Length: ${body.length}`]);
  socket.write(head + sent);
  return socket;
}

const start = (options: Parameters<typeof startIngressApp>[0] = {}) =>
  startIngressApp({ maxBodyBytes: 16 * MIB, largeMemory: 4 * MIB, ...options });

describe('a large body', () => {
  it('is stored exact to the byte', async () => {
    await using ingress = await start();
    const body = message(3 * MIB);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
    expect(ingress.seen.records[0]?.value?.includes(body)).toBe(true);
    expect(ingress.memory.large.taken).toBe(0);
  });

  it('of unknown length is stored too, and one that is too large refused', async () => {
    await using ingress = await start({ maxBodyBytes: 4 * MIB });
    const answerTo = (body: string) =>
      exchange(ingress.port, [
        headOf([`X-Signature-SHA256: ${sign(body)}`, 'Transfer-Encoding: chunked', 'Connection: close']),
        ...(body.match(/.{1,100000}/g) ?? []).map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`),
        '0\r\n\r\n',
      ]);
    const body = message(3 * MIB);
    expect(await answerTo(body)).toMatch(/^HTTP\/1\.1 200 /);
    expect(ingress.seen.records[0]?.value?.includes(body)).toBe(true);
    expect(await answerTo(message(4 * MIB))).toMatch(/^HTTP\/1\.1 413 /);
    expect([ingress.memory.large.taken, ingress.memory.small.taken]).toEqual([0, 0]);
  });

  it('waits unread while there is no room, and small ones pass it', async () => {
    await using ingress = await start();
    const holding = await begin(ingress, message(3 * MIB), message(MIB));
    await until('the first has its room', () => ingress.memory.large.taken > 0);
    const body = message(2 * MIB);
    const waiting = await begin(ingress, body, '');
    waiting.write(body);
    await until('the second waits', () => ingress.memory.large.waiting === 1);
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, small)).status).toBe(200);
    expect(ingress.memory.large.waiting).toBe(1);
    holding.destroy();
    const [answer] = await once(waiting, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
    waiting.destroy();
    await until('all room is given back', () => ingress.memory.large.taken === 0);
  });

  it('is answered 503 with Retry-After when there is no room in time', async () => {
    await using ingress = await start({ admissionWaitMs: 50 });
    const holding = await begin(ingress, message(3 * MIB), message(MIB));
    await until('the first has its room', () => ingress.memory.large.taken > 0);
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, message(2 * MIB));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.json()).toMatchObject({ error: 'NO_ROOM' });
    holding.destroy();
    await until('its room is given back', () => ingress.memory.large.taken === 0);
  });

  it('whose sender has gone gives its memory back, waiting or on its way', async () => {
    await using ingress = await start({ admissionWaitMs: 60_000 });
    const holding = await begin(ingress, message(3 * MIB), message(MIB));
    await until('the first has its room', () => ingress.memory.large.taken > 0);
    const waiting = await begin(ingress, message(2 * MIB), message(MIB));
    await until('the second waits', () => ingress.memory.large.waiting === 1);
    waiting.destroy();
    await until('it waits no more', () => ingress.memory.large.waiting === 0);
    holding.destroy();
    await until('all room is given back', () => ingress.memory.large.taken === 0);
    expect(ingress.seen.records).toEqual([]);
  });

  it('is read at once where the process stops', async () => {
    await using ingress = await start({ pace: { beside: 1, alone: 1 } });
    const sent = post(`${ingress.url}/webhooks/ledger-eu`, message(3 * MIB));
    await until('it is let in', () => ingress.memory.large.taken > 0);
    const stopped = ingress.app.close();
    expect((await sent).status).toBe(200);
    await stopped;
  });

  it.each([
    ['an unknown ref', 'nobody', (body: string) => sign(body)],
    ['a malformed signature', 'ledger-eu', () => 'nonsense'],
  ])('with %s is refused before it is read', async (_, ref, signature) => {
    await using ingress = await start();
    const body = message(3 * MIB);
    const head = headOf([`X-Signature-SHA256: ${signature(body)}`, `Content-Length: ${body.length}`], ref);
    const socket = connect(ingress.port, '127.0.0.1');
    socket.write(head);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it('with a wrong signature is answered 401, with that of an older key 200', async () => {
    await using ingress = await start();
    const body = message(2 * MIB);
    const wrong = { 'x-signature-sha256': sign(`${body} `) };
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, body, wrong)).status).toBe(401);
    expect(ingress.memory.large.taken).toBe(0);
    ingress.rotate('the-new-secret-of-36-characters-long');
    expect((await post(`${ingress.url}/webhooks/ledger-eu`, body)).status).toBe(200);
    expect(ingress.seen.matched.at(-1)).toBe('ledger-eu signing 1');
  });
});
