import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findWays } from './find-ways.ts';
import { startJvmStack } from './jvm-stack.ts';
import { planPorts } from './plan-ports.ts';
import { LOCAL_DIR } from './start-stack.ts';

it('takes other ports where somebody listens on one of them by the time that Kafka does', async ({
  onTestFinished,
}) => {
  const dir = mkdtempSync(join(tmpdir(), 'jvm-stack-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const faster = createServer().listen(0, '127.0.0.1');
  await once(faster, 'listening');
  onTestFinished(() => void faster.close());
  const taken = (faster.address() as AddressInfo).port;
  const { jdk } = await findWays({ env: process.env, way: 'jvm' }, LOCAL_DIR);
  let plans = 0;
  const notes: string[] = [];
  const stack = await startJvmStack(
    {
      env: process.env,
      dir,
      partsDir: LOCAL_DIR,
      jdk: jdk ?? expect.fail('no JDK'),
      nodes: 1,
      withRegistry: false,
      keep: false,
      shortLived: true,
      onProgress: (note) => void notes.push(note),
      signal: new AbortController().signal,
    },
    async (asked) => {
      const ports = await planPorts(asked);
      return ++plans === 1 ? { ...ports, internal: [taken] } : ports;
    },
  );
  await stack.stop();
  expect(plans).toBe(2);
  expect(notes).toContain('another program has taken a port in the meantime: once more');
});
