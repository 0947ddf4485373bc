import { expect, inject, it } from 'vitest';
import { cli } from '../../support/cli.ts';

const ENV = {
  KAFKA_BROKERS: inject('brokers').join(','),
  SCHEMA_REGISTRY_URL: inject('registryUrl'),
  TOPIC_PREFIX: 'nobody',
};

it.each([
  ['dlq', 'redrive'],
  ['dlq', 'dismiss', '--reason', 'x', '--by', 'Ada'],
])('%s %s without the dead-letter topic names it, and what creates it', async (...args) => {
  const { exitCode, notes } = await cli(ENV, ...args);
  expect([exitCode, notes]).toEqual([
    1,
    'hookline: topics do not exist, or this user has no right to them: run hookline topics apply, or grant it (nobody.dead-letter)',
  ]);
});
