import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ControlFixture } from '../../support/control-fixture.ts';
import { setTopicConfig, topicConfig } from '../../support/topic-config.ts';
import { asAdmin } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';
import { Night } from './night.ts';
import { untilSeen } from './prometheus.ts';
import { bySection } from './runbook.ts';

const namespace = 'payments';
let the: ControlFixture;
let night: Night;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
  env = the.fixture.env;
  night = await Night.begin();
  await night.watch(namespace, 'control', the.control);
  await untilSeen(
    'it is scraped, and has counted',
    async () =>
      (await night.prometheus.query('hookline_dead_letters_counted_timestamp_seconds > 0')).length > 0,
    60_000,
  );
});

afterAll(async () => {
  await the?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
});

const list = () => night.run('HooklineDeadLettersOpen', 'hookline dlq list --filter state=open', env);
const LOST = 'what no command is';

describe('at night, dead-letter records', () => {
  it('are open until somebody dismisses them, and page before retention takes them', async () => {
    const topic = the.fixture.topic('dead-letter');
    const { 'retention.ms': kept } = await topicConfig(env, topic);
    await setTopicConfig(env, topic, { 'retention.ms': '120000' });
    await the.send('ledger-eu', LOST);
    await until('the record is there', async () => (await list()).includes('COMMAND'));
    await night.fires('HooklineDeadLettersOpen', { namespace, stage: 'COMMAND' });
    await night.fires('HooklineDeadLettersExpire', { namespace });

    bySection('HooklineDeadLettersExpire', 'raise `retention.ms` of the topic `dead-letter`');
    await setTopicConfig(env, topic, { 'retention.ms': kept ?? '' });
    await night.resolves('HooklineDeadLettersExpire', { namespace });
    const [, at = ''] = /(\d+:\d+)/.exec(await list()) ?? [];
    const dismiss = 'hookline dlq dismiss --filter at=AT --reason WHY --by NAME';
    const filled = { AT: at, WHY: "'a test of the team'", NAME: 'Ada' };
    expect(await night.run('HooklineDeadLettersOpen', dismiss, env, filled)).toContain('dismissed');
    await night.resolves('HooklineDeadLettersOpen', { namespace });
  });

  it('are not counted while their topic is gone: it is created anew, and they are', async () => {
    await asAdmin(env, (admin) => admin.deleteTopics({ topics: [the.fixture.topic('dead-letter')] }));
    await night.fires('HooklineDeadLettersNotCounted', { namespace });
    expect(the.control.written()).toContain('open dead-letter records cannot be counted');

    await night.run('HooklineDeadLettersNotCounted', 'hookline topics apply', env);
    await night.resolves('HooklineDeadLettersNotCounted', { namespace });
  });
});
