import { expect, it } from 'vitest';
import { nodeSource } from '../../../src/config/env.ts';
import { jobChanges } from '../../../src/console/dead-letters/job-changes.ts';
import { Jobs } from '../../../src/console/dead-letters/jobs.ts';
import { PageError, type PageRequest } from '../../../src/console/page/page.ts';
import { loadConsoleConfig } from '../../../src/console/settings/console-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { until } from '../../support/until.ts';

const config = loadConsoleConfig(
  nodeSource({ KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' }),
);
const kafka = {
  get openConsumer(): never {
    throw new Error('no brokers here');
  },
} as never;

it('says failed of a job that failed, when it has ended', async () => {
  const jobs = new Jobs(systemClock, () => 'job-1');
  const [redrive] = jobChanges({ config, kafka }, jobs);
  const request = { user: { name: 'otto' } } as PageRequest;
  const ends: unknown[] = [];
  const end = async (...how: unknown[]) => void ends.push(how);
  const input = redrive?.read({ stage: 'DECRYPT' }, request) ?? expect.fail('no redrive');
  await redrive?.make(input, request, () => end);
  await expect(redrive?.make(input, request, () => expect.fail('it did not begin'))).rejects.toThrow(
    PageError,
  );
  await until('it has ended', () => ends.length > 0);
  expect(ends).toEqual([['failed', expect.stringMatching(/^job job-1: ./)]]);
  expect(jobs.get('job-1')?.status).toBe('failed');
  await jobs.stop();
});

it('takes no word for no that is neither yes nor no: a dry run is not done', () => {
  const changes = jobChanges({ config, kafka }, new Jobs(systemClock, () => 'job-1')).slice(0, 2);
  for (const change of changes) {
    const inputOf = (fields: object) =>
      change.read({ stage: 'DECRYPT', reason: 'test', ...fields }, { user: { name: 'otto' } } as PageRequest);
    for (const yes of [true, 'true', 'yes']) expect(inputOf({ dryRun: yes })).toMatchObject({ isDry: true });
    for (const no of [undefined, false, 'no', ''])
      expect(inputOf({ dryRun: no })).toMatchObject({ isDry: false });
    for (const word of [1, '1', 'on', 'True', ['yes']]) {
      expect(() => inputOf({ dryRun: word })).toThrow('dryRun must be true or false');
      expect(() => inputOf({ again: word })).toThrow('again must be true or false');
    }
  }
});

it('says in the audit trail whether what was redriven or dismissed before is redriven again', () => {
  const [redrive] = jobChanges({ config, kafka }, new Jobs(systemClock, () => 'job-1'));
  const audited = (fields: object) => {
    const request = { user: { name: 'otto' } } as PageRequest;
    const input = redrive?.read({ stage: 'DECRYPT', ...fields }, request) ?? expect.fail('no redrive');
    return redrive?.audited(input)?.details;
  };
  expect(audited({ again: 'yes' })).toEqual({ filter: ['stage=DECRYPT'], again: true });
  expect(audited({})).toEqual({ filter: ['stage=DECRYPT'] });
});
