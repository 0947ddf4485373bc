import { expect, it } from 'vitest';
import { cliUntil } from '../../support/cli.ts';

it('a command that no broker confirms ends at Ctrl-C, and says that it may be stored', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };
  const begin = performance.now();
  const { exitCode, notes } = await cliUntil(AbortSignal.timeout(500), env, 'command', 'subscription.list');
  expect([exitCode, notes]).toEqual([
    1,
    'hookline: interrupted before the brokers confirmed it; it may be stored all the same',
  ]);
  expect(performance.now() - begin).toBeLessThan(5_000);
});
