import { describe, expect, it } from 'vitest';
import type { VerifiedDelivery } from '../../src/core/delivery.ts';
import { envReader } from '../../src/core/env.ts';
import { storeDelivery } from '../../src/delivery/accept-delivery.ts';
import { BodyMemory } from '../../src/ingress/bodies/body-memory.ts';
import { startIngressServer } from '../../src/ingress/ingress-server.ts';
import { ingressSettings } from '../../src/ingress/settings.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { nodeSource } from '../../src/runtime/node-source.ts';
import { post, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status","entityId":"e-1"}';

async function startServer(stopDelayMs: number) {
  const env = { INGRESS_HOST: '127.0.0.1', INGRESS_PORT: '0', STOP_DELAY_MS: String(stopDelayMs) };
  const settings = envReader(nodeSource(env)).read(ingressSettings);
  const { delivery, keyring } = await startIngressApp();
  const observer = { accepted: () => {}, refused: () => {}, stop: async () => {} };
  const logger = createLogger({ name: 'test', level: 'silent' });
  const accept = {
    observer: delivery.observer,
    store: (one: VerifiedDelivery) => storeDelivery(one, delivery),
  };
  const memory = new BodyMemory({ small: 1e6, large: 1e6 }, 1_000);
  return startIngressServer({
    settings,
    logger,
    delivery: accept,
    keyring,
    memory,
    observer,
    tracer: undefined,
  });
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
});
