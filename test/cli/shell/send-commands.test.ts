import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { cliUntil } from '../../support/cli.ts';

/** No time-out ends anything: what waits for one would wait for ever. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] }));
afterEach(() => void vi.useRealTimers());

it('a command that no broker confirms ends at Ctrl-C, and says that it may be stored', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };
  const { exitCode, notes } = await cliUntil(AbortSignal.timeout(500), env, 'command', 'subscription.list');
  expect([exitCode, notes]).toEqual([
    1,
    'hookline: interrupted before the brokers confirmed it; it may be stored all the same',
  ]);
});

it('a command that waits for its result ends at Ctrl-C while the brokers say nothing, and says that nothing was sent', async () => {
  await using opened = new AsyncDisposableStack();
  const broker = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  opened.defer(() => void broker.close());
  const registry = createHttpServer((_, reply) => reply.end('{"id":1,"version":1}')).listen(0, '127.0.0.1');
  opened.defer(() => void registry.close());
  await Promise.all([broker, registry].map((server) => server.listening || once(server, 'listening')));
  const [kafkaPort, registryPort] = [broker, registry].map((one) => (one.address() as AddressInfo).port);
  const env = {
    KAFKA_BROKERS: `127.0.0.1:${kafkaPort}`,
    SCHEMA_REGISTRY_URL: `http://127.0.0.1:${registryPort}`,
  };
  const command = ['command', 'subscription.list', '--wait'];
  const { exitCode, notes } = await cliUntil(AbortSignal.timeout(500), env, ...command);
  expect([exitCode, notes]).toEqual([1, 'hookline: interrupted; nothing was sent']);
});
