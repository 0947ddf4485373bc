import { afterEach, beforeEach, expect, inject, it, vi } from 'vitest';
import { cli } from '../../support/cli.ts';

const ENV = {
  KAFKA_BROKERS: inject('brokers').join(','),
  TOPIC_PREFIX: 'nobody',
  BODY_STORE: 's3://events',
};

beforeEach(() => {
  for (const name of ['AWS_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/nowhere/aws');
});
afterEach(() => vi.unstubAllEnvs());

it.each([['list'], ['show', '0:1']])('dlq %s needs no object store, as it reads no body', async (...args) => {
  const { exitCode, notes } = await cli(ENV, 'dlq', ...args);
  expect([exitCode, notes]).toEqual([
    1,
    'hookline: topics do not exist, or this user has no right to them: run hookline topics apply, or grant it (nobody.dead-letter)',
  ]);
});

it.each(['--reveal', '--body'])('dlq show %s says what the object store lacks', async (option) => {
  const { exitCode, notes } = await cli(ENV, 'dlq', 'show', '0:1', option);
  expect([exitCode, notes]).toEqual([2, expect.stringContaining('set BODY_STORE_REGION')]);
});
