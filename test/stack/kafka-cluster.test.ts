import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePorts } from './plan-ports.ts';
import { kafkaAnswers } from './readiness.ts';
import { startStack } from './start-stack.ts';

describe('a Kafka of plain JVMs', () => {
  // Minutes where Maven has yet to download it.
  it('can be reached through a proxy, killed and started again', { timeout: 600_000 }, async ({
    onTestFinished,
  }) => {
    const dir = mkdtempSync(join(tmpdir(), 'cluster-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const advertisedPorts = await freePorts(1);
    // A killed broker may register again when its session is over: after 9 s, unless told otherwise.
    const properties = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };
    const kafka = { advertisedPorts, properties };
    const options = {
      env: process.env,
      dir,
      way: 'jvm',
      withRegistry: false,
      shortLived: true,
      kafka,
    } as const;
    {
      await using stack = await startStack(options);
      const [node] = stack.kafka!.nodes;
      const [broker = ''] = stack.brokers;
      expect(broker).toBe(`127.0.0.1:${advertisedPorts[0]}`);
      expect(await kafkaAnswers(broker, 1)).not.toBe(true);
      await using _proxy = await startProxy(advertisedPorts[0]!, node!.port);
      expect(await kafkaAnswers(broker, 1)).toBe(true);

      const firstPid = node!.pid;
      await node!.kill('SIGKILL');
      expect(node!.isRunning()).toBe(false);
      expect(await kafkaAnswers(broker, 1)).not.toBe(true);
      await node!.start();
      await stack.kafka!.waitReady();
      expect(node!.pid).not.toBe(firstPid);
      expect(await kafkaAnswers(broker, 1)).toBe(true);
    }
    expect(readdirSync(dir)).toEqual([]);
  });
});

async function startProxy(from: number, to: number): Promise<AsyncDisposable> {
  const server = net.createServer((client) => {
    const broker = net.connect(to, '127.0.0.1');
    client.on('error', () => broker.destroy()).pipe(broker);
    broker.on('error', () => client.destroy()).pipe(client);
  });
  await once(server.listen(from, '127.0.0.1'), 'listening');
  return server;
}
