import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { cliUntil } from '../support/cli.ts';
import { RunningProcess } from '../support/running-process.ts';
import { serve } from '../support/serve.ts';

/** Brokers that accept connections and answer nothing: the clients ask them for most of ten seconds. */
async function silentBrokers(onAsked: () => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', onAsked);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

it.each([
  'tail commands',
  'tail commands --from-beginning',
  'inspect ledger-eu',
  'topics plan',
  'topics apply',
  'doctor',
  'dlq list',
  'dlq show 0:1',
  'dlq redrive',
  'dlq redrive --dry-run',
  'dlq dismiss --reason known',
])('hookline %s ends at Ctrl-C while the brokers answer nothing, exit code 1', async (line) => {
  const asked = new AbortController();
  await using brokers = await silentBrokers(() => asked.abort(new Error('interrupted')));
  await using registry = await serve((_, reply) => reply.end('{"id":1,"version":1}'));
  const env = { KAFKA_BROKERS: brokers.address, SCHEMA_REGISTRY_URL: registry.url };
  const ended = cliUntil(asked.signal, env, ...line.split(' '));
  await Promise.race([once(asked.signal, 'abort'), ended]);
  const begin = performance.now();
  const { exitCode, out, notes } = await ended;
  expect([exitCode, out, notes]).toEqual([1, '', 'hookline: interrupted']);
  expect(performance.now() - begin).toBeLessThan(3_000);
});

it.each(['SIGINT', 'SIGTERM'] as const)('as a process too, at %s', async (signal) => {
  const asked = Promise.withResolvers<void>();
  await using brokers = await silentBrokers(asked.resolve);
  const env = { KAFKA_BROKERS: brokers.address, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };
  const plan = new RunningProcess('src/cli/main.ts', env, ['topics', 'plan']);
  const ended = plan.end();
  await Promise.race([asked.promise, ended]);
  const begin = performance.now();
  plan.kill(signal);
  expect([await ended, plan.errors]).toEqual([1, ['hookline: interrupted']]);
  expect(performance.now() - begin).toBeLessThan(3_000);
});
