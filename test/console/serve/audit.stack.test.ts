import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { nodeSource } from '../../../src/config/env.ts';
import { PageError } from '../../../src/console/page/page.ts';
import { type Audit, openAudit } from '../../../src/console/serve/audit.ts';
import { loadConsoleConfig } from '../../../src/console/settings/console-config.ts';
import { openKafka } from '../../../src/kafka/open-kafka.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { Fixture } from '../../support/topics-fixture.ts';

let fixture: Fixture;
const opened: Audit[] = [];

beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'));
});

afterAll(async () => {
  for (const audit of opened) await audit.stop();
  await fixture[Symbol.asyncDispose]();
});

function open(prefix: string) {
  const config = loadConsoleConfig(nodeSource(fixture.env));
  const files = { renewed() {}, unusable() {} };
  const kafka = openKafka({ settings: config.kafka, files, clock, clientId: 'test', log: () => {} });
  const log = capturedLog();
  const audit = openAudit({ kafka, prefix, logger: log.logger, clock });
  opened.push(audit);
  return { audit, log };
}

it('has two records of a change, with one id, keyed by the user: before it and after it', async () => {
  const { audit, log } = open(fixture.prefix);
  const end = await audit.begin({ user: 'otto', action: 'command', details: { ref: 'eu' } });
  const first = await fixture.read('audit', 1);
  await end('failed', 'the brokers refuse it');
  const records = await fixture.read('audit', 2);
  expect(first.length).toBe(1);
  const entries = records.map(({ key, value }) => ({ key, ...JSON.parse(String(value)) }));
  const about = { key: 'otto', user: 'otto', action: 'command', details: { ref: 'eu' } };
  expect(entries).toMatchObject([
    { ...about, state: 'begun', at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
    { ...about, state: 'failed', message: 'the brokers refuse it', id: entries[0]?.id },
  ]);
  expect(log.lines().map(({ audit: line }) => (line as { state: string }).state)).toEqual([
    'begun',
    'failed',
  ]);
});

it('refuses where its topic is missing, and says what to do', async () => {
  const { audit } = open(`${fixture.prefix}-without-topics`);
  const failure = await audit.begin({ user: 'otto', action: 'command', details: {} }).catch((error) => error);
  expect(failure).toBeInstanceOf(PageError);
  expect(failure.message).toMatch(
    /^Nothing was changed or shown, because the audit trail .* run hookline topics apply/,
  );
});
