import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { envReader, nodeSource } from '../../src/config/env.ts';
import type { VerifiedDelivery } from '../../src/core/delivery.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { openBodyMemory, startIngressServer } from '../../src/ingress/ingress-server.ts';
import { ingressSettings } from '../../src/ingress/settings.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createComponents } from '../../src/runtime/components.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { post, sign, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status","entityId":"e-1"}';

/** In a thread, as this one is busy: a webhook on a connection, then, when told to, one more on it and one on another. */
const SENDER = `
  const { connect } = require('node:net');
  const { once } = require('node:events');
  const { parentPort, workerData: { port, request, go } } = require('node:worker_threads');
  const ask = async (socket) => {
    socket.write(request);
    const [first] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['cut off'])]);
    return String(first).split('\\r\\n')[0];
  };
  const open = () => connect(port, '127.0.0.1').on('error', () => {});
  (async () => {
    const old = open();
    await ask(old);
    parentPort.postMessage('ready');
    Atomics.wait(go, 0, 0);
    parentPort.postMessage(await Promise.all([ask(old), ask(open())]));
  })();
`;

/** In a thread: many webhooks at once, each on a connection of its own. */
const BURST_SENDER = `
  const { connect } = require('node:net');
  const { once } = require('node:events');
  const { parentPort, workerData: { port, request, count } } = require('node:worker_threads');
  const ask = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(request);
    const [first] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['cut off'])]);
    socket.destroy();
    return String(first).split('\\r\\n')[0];
  };
  Promise.all(Array.from({ length: count }, ask)).then((lines) => parentPort.postMessage(lines));
`;

async function startServer(stopDelayMs: number, port = '0') {
  const env = { INGRESS_HOST: '127.0.0.1', INGRESS_PORT: port, STOP_DELAY_MS: String(stopDelayMs) };
  const settings = envReader(nodeSource(env)).read(ingressSettings);
  const { delivery, keyring } = await startIngressApp();
  const logger = createLogger({ name: 'test', level: 'silent' });
  const accept = {
    observer: delivery.observer,
    store: (one: VerifiedDelivery) => publishDelivery(one, delivery),
  };
  const components = createComponents({ stopped() {}, failedAgain() {} });
  return startIngressServer(
    {
      settings,
      delivery: accept,
      keyring,
      memory: openBodyMemory(
        { ingress: settings, spool: { dir: undefined, maxBytes: 1 } },
        { logger, clock: systemClock },
      ),
      large: { warm() {} },
      files: { renewed() {}, unusable() {} },
    },
    { logger, metrics: createMetrics(), clock: systemClock, components },
  );
}

const webhook =
  `POST /webhooks/ledger-eu HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n` +
  `X-Signature-SHA256: ${sign(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

it('warns of a budget that is small for a spool', () => {
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level: 'info', write: (line) => void lines.push(line) });
  const openWith = (MEMORY_BUDGET_BYTES: number, dir?: string) => {
    const env = { MEMORY_BUDGET_BYTES: String(MEMORY_BUDGET_BYTES) };
    const ingress = envReader(nodeSource(env)).read(ingressSettings);
    openBodyMemory({ ingress, spool: { dir, maxBytes: 1 } }, { logger, clock: systemClock }, 0);
    return lines.splice(0).map((line) => JSON.parse(line).least);
  };
  expect(openWith(400 * 1024 ** 2, '/spool')).toEqual([571_950_547]);
  expect([openWith(400 * 1024 ** 2), openWith(571_950_547, '/spool')]).toEqual([[], []]);
});

it('warns of a container whose limit is less than it may need', () => {
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level: 'info', write: (line) => void lines.push(line) });
  const ingress = envReader(nodeSource({})).read(ingressSettings);
  const openWith = (limit: number) => {
    openBodyMemory(
      { ingress, spool: { dir: undefined, maxBytes: 1 } },
      { logger, clock: systemClock },
      limit,
    );
    return lines.splice(0).map((line) => JSON.parse(line).least);
  };
  const least = 1264 * 1024 ** 2;
  expect([openWith(640 * 1024 ** 2), openWith(least - 1)]).toEqual([[least], [least]]);
  const unlimited = 2 ** 64;
  expect([openWith(least), openWith(unlimited), openWith(0)]).toEqual([[], [], []]);
});

const BURST = 128;

/** Connections with a webhook each, all in the system's queue: this thread was busy meanwhile. @returns their answers' first lines */
async function burst(port: number): Promise<{ answers: Promise<string[]> }> {
  const client = new Worker(BURST_SENDER, {
    eval: true,
    workerData: { port, request: webhook, count: BURST },
  });
  await once(client, 'online');
  const answers = once(client, 'message').then(async ([lines]) => {
    await client.terminate();
    return lines as string[];
  });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  return { answers };
}

describe.runIf(process.platform === 'linux')('a burst of connections', () => {
  it('is accepted many at a time: the last one does not wait for as many turns of the event loop', async () => {
    const server = await startServer(0);
    const { answers } = await burst(Number(new URL(server.url).port));
    let turns = 0;
    let isAnswered = false;
    void answers.then(() => {
      isAnswered = true;
    });
    // Each a busy one, so that the client has read its answers long before the next.
    for (; !isAnswered; turns++) {
      await nextTurn();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
    expect(await answers).toEqual(Array(BURST).fill('HTTP/1.1 200 OK'));
    expect(turns).toBeLessThan(BURST / 2);
    await server.stop();
  });

  it('that came before a stop is answered, each of them', async () => {
    const server = await startServer(0);
    const { answers } = await burst(Number(new URL(server.url).port));
    const stopped = server.stop();
    expect(await answers).toEqual(Array(BURST).fill('HTTP/1.1 200 OK'));
    await stopped;
  });
});

describe('the port', () => {
  it('is not shared with a second process', async () => {
    const server = await startServer(0);
    await expect(startServer(0, new URL(server.url).port)).rejects.toThrow('EADDRINUSE');
    await server.stop();
  });
});

describe('a stop', () => {
  it('goes on taking webhooks for STOP_DELAY_MS, and lets each connection go with its answer', async () => {
    const server = await startServer(1_500);
    const before = await post(`${server.url}/webhooks/ledger-eu`, body);
    expect([before.status, before.headers.get('connection')]).toEqual([200, 'keep-alive']);
    const stopped = server.stop();
    const within = await post(`${server.url}/webhooks/ledger-eu`, body);
    expect([within.status, within.headers.get('connection')]).toEqual([200, 'close']);
    await stopped;
    await expect(post(`${server.url}/webhooks/ledger-eu`, body)).rejects.toThrow();
  });

  it('cuts nothing off that came while the process was busy, on old connections or on new ones', async () => {
    const server = await startServer(50);
    const go = new Int32Array(new SharedArrayBuffer(4));
    const sender = new Worker(SENDER, {
      eval: true,
      workerData: { port: Number(new URL(server.url).port), request: webhook, go },
    });
    await once(sender, 'message');
    const answers = once(sender, 'message');
    const stopped = server.stop();
    Atomics.store(go, 0, 1);
    Atomics.notify(go, 0);
    // Busy until long after the delay: the requests are there, and nobody has read them.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    expect(await answers).toEqual([['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']]);
    await stopped;
    await sender.terminate();
  });
});
