import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { post, sign, startIngressApp } from '../support/ingress-app.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const small = '{"type":"payment-status","entityId":"e-1"}';
const message = (bytes: number) => `{"type":"payment-status","x":"${'x'.repeat(bytes)}"}`;
const anySignature = `X-Signature-SHA256: ${'ab'.repeat(32)}`;

type Ingress = Awaited<ReturnType<typeof startIngressApp>>;

const idle: Socket[] = [];
afterEach(() => {
  for (const socket of idle.splice(0)) socket.destroy();
});

/** Connections that send a head and at most one byte of its body, and then nothing more. */
async function openIdle(
  ingress: Ingress,
  count: number,
  ref: string,
  lines: readonly string[],
  byte: string,
) {
  let requests = 0;
  ingress.app.server.on('request', () => requests++);
  ingress.app.server.on('checkContinue', () => requests++);
  const head = `POST /webhooks/${ref} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${lines.join('\r\n')}\r\n\r\n`;
  for (let n = 0; n < count; n++) {
    const socket = connect(ingress.port, '127.0.0.1');
    socket.on('error', () => {});
    idle.push(socket);
    socket.write(head + byte);
  }
  await until('all of them are there', () => requests >= count);
}

/** The default budget's memory, and a wait that would show: nobody may come to it. */
const start = () =>
  startIngressApp({
    maxBodyBytes: 50 * MIB,
    smallMemory: 72 * MIB,
    largeMemory: 592 * MIB,
    admissionWaitMs: 600,
    requestTimeoutMs: 30_000,
  });

describe('400 idle connections without a proof cost others nothing', () => {
  it.each([
    ['chunked, one byte, unknown ref', 'nobody', ['Transfer-Encoding: chunked'], '1\r\nx\r\n'],
    ['chunked, one byte, known ref', 'ledger-eu', [anySignature, 'Transfer-Encoding: chunked'], '1\r\nx\r\n'],
    ['1 MiB declared, unknown ref', 'nobody', [`Content-Length: ${MIB}`], 'x'],
    ['1 MiB declared, known ref', 'ledger-eu', [anySignature, `Content-Length: ${MIB}`], 'x'],
    ['1 MiB declared, no byte', 'ledger-eu', [anySignature, `Content-Length: ${MIB}`], ''],
    ['50 MB declared, unknown ref', 'nobody', ['Content-Length: 50000000'], 'x'],
    ['50 MB declared, known ref', 'ledger-eu', [anySignature, 'Content-Length: 50000000'], 'x'],
    ['100-continue', 'ledger-eu', [anySignature, `Content-Length: ${MIB}`, 'Expect: 100-continue'], ''],
    [
      '100-continue, 50 MB',
      'ledger-eu',
      [anySignature, 'Content-Length: 50000000', 'Expect: 100-continue'],
      '',
    ],
  ])('%s', async (_, ref, lines, byte) => {
    await using ingress = await start();
    await openIdle(ingress, 400, ref, lines, byte);
    const url = `${ingress.url}/webhooks/ledger-eu`;
    for (const body of [small, message(200_000), message(2_000_000)])
      expect((await post(url, body)).status).toBe(200);
    expect([ingress.memory.small.waiting, ingress.memory.large.waiting]).toEqual([0, 0]);
    for (const socket of idle.splice(0)) socket.destroy();
    await until(
      'nothing is held for them',
      () => ingress.memory.small.taken + ingress.memory.large.taken === 0,
    );
  });
});

it('a large body that is cut off gives its memory back', async () => {
  await using ingress = await start();
  const socket = connect(ingress.port, '127.0.0.1');
  await once(socket, 'connect');
  const head = `X-Signature-SHA256: ${sign('x')}\r\nContent-Type: application/json\r\nContent-Length: 50000000`;
  socket.write(`POST /webhooks/ledger-eu HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${'x'.repeat(3 * MIB)}`);
  await until('it has memory', () => ingress.memory.large.taken > 0);
  socket.destroy();
  await until('it has none', () => ingress.memory.small.taken + ingress.memory.large.taken === 0);
});
