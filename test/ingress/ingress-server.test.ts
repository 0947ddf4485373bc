import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { envReader, nodeSource } from '../../src/config/env.ts';
import type { VerifiedDelivery } from '../../src/core/delivery.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { openBodyMemory, startIngressServer } from '../../src/ingress/ingress-server.ts';
import { ingressSettings } from '../../src/ingress/settings.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { createComponents } from '../../src/runtime/process-shell.ts';
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

async function startServer(stopDelayMs: number) {
  const env = { INGRESS_HOST: '127.0.0.1', INGRESS_PORT: '0', STOP_DELAY_MS: String(stopDelayMs) };
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
      memory: openBodyMemory(settings, systemClock),
      large: { warm() {} },
    },
    { logger, metrics: createMetrics(), clock: systemClock, components },
  );
}

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
    const request =
      `POST /webhooks/ledger-eu HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n` +
      `X-Signature-SHA256: ${sign(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const go = new Int32Array(new SharedArrayBuffer(4));
    const sender = new Worker(SENDER, {
      eval: true,
      workerData: { port: Number(new URL(server.url).port), request, go },
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
