import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { kafkaAnswers, registryAnswers } from './readiness.ts';
import { findRunning } from './running-state.ts';

const dir = mkdtempSync(join(tmpdir(), 'up-down-'));
const main = join(import.meta.dirname, 'main.ts');
const stack = (verb: string) => promisify(execFile)(process.execPath, [main, verb, '--dir', dir]);

afterAll(async () => {
  await stack('down');
  rmSync(dir, { recursive: true });
});

// Minutes where Maven or Docker has yet to download it.
it('stays until it is taken down, and is one even when it is asked for twice at once', {
  timeout: 600_000,
}, async () => {
  const [first, second] = await Promise.all([stack('up'), stack('up')]);
  const [, broker = '', registryUrl = ''] =
    /^export KAFKA_BROKERS=(\S+) SCHEMA_REGISTRY_URL=(\S+) MIN_INSYNC_REPLICAS=1$/m.exec(first.stdout) ?? [];
  expect(await kafkaAnswers(broker, 1)).toBe(true);
  expect(await registryAnswers(registryUrl)).toBe(true);
  const config = await fetch(`${registryUrl}/config`);
  expect(await config.json()).toMatchObject({ compatibilityLevel: 'FULL_TRANSITIVE' });

  expect(second.stdout).toBe(first.stdout);
  expect((await stack('up')).stdout).toBe(first.stdout);
  expect((await stack('status')).stdout).toBe(first.stdout);
  expect(await findRunning(dir)).toMatchObject({ brokers: [broker], registryUrl });

  expect((await stack('down')).stderr).toContain('stopped');
  expect(await kafkaAnswers(broker, 1)).not.toBe(true);
  expect(readdirSync(dir).filter((entry) => entry.startsWith('run'))).toEqual([]);
  await expect(stack('status')).rejects.toMatchObject({ code: 1 });
  expect((await stack('down')).stderr).toContain('nothing runs');
});
