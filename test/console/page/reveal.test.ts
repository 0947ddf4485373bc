import { expect, it } from 'vitest';
import { nodeSource } from '../../../src/config/env.ts';
import { auditedOf as eventsAudited } from '../../../src/console/events/events-page.ts';
import { auditedOf as storyAudited } from '../../../src/console/find/find-page.ts';
import { PageError, type PageRequest } from '../../../src/console/page/page.ts';
import { createReveal } from '../../../src/console/page/reveal.ts';
import { loadConsoleConfig } from '../../../src/console/settings/console-config.ts';
import type { Role } from '../../../src/console/settings/roles.ts';

const ENTITY = 'DE02 1203 0000 0000 2020 51';
const config = loadConsoleConfig(
  nodeSource({ KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' }),
);

function asking(role: Role, query: Record<string, string>, failure?: Error) {
  const audited: unknown[] = [];
  const request = {
    query,
    user: { name: 'lea' },
    may: (one: Role) => one === role,
    audit: async (action: string, details: object) => {
      if (failure) throw failure;
      audited.push([action, details]);
    },
  } as unknown as PageRequest;
  const show = () =>
    createReveal(config).show(
      request,
      async (mask) => mask.value('payments.payment-status', { source: ENTITY }, true),
      'reveal the story',
      (shown) => ({ shown }),
    );
  return { show, audited };
}

it('shows what is masked to who may, once the audit trail says which records it is', async () => {
  const { show, audited } = asking('reveal', { reveal: 'yes' });
  expect([await show(), audited]).toEqual([
    { source: ENTITY },
    [['reveal the story', { shown: { source: ENTITY } }]],
  ]);
  const lost = new PageError(503, 'the audit trail cannot be written');
  await expect(asking('reveal', { reveal: 'yes' }, lost).show()).rejects.toBe(lost);
});

it('masks for everybody else', async () => {
  expect(await asking('reveal', {}).show()).toEqual({ source: expect.stringMatching(/^hidden \(PII/) });
  await expect(asking('operate', { reveal: 'yes' }).show()).rejects.toThrow('does not have the role reveal');
});

it('tells the audit trail which records were shown, and never the entity that they were found by', () => {
  const at = { topic: 'payments.payment-status', partition: 2, offset: 17 };
  const line = { time: '', step: 'stored', what: ENTITY, at };
  expect(storyAudited({ wanted: ENTITY, lines: [line, { ...line, step: 'repeat' }] })).toEqual({
    wanted: 'hidden (27 bytes)',
    records: ['payments.payment-status 2:17'],
  });
  const record = { ...at, key: ENTITY } as never;
  const events = {
    topic: at.topic,
    holds: 'events' as const,
    at: null,
    filter: { key: ENTITY },
    records: [record],
    looked: 1,
    total: 1,
  };
  expect(eventsAudited(events)).toEqual({ topic: at.topic, by: ['key'], records: ['2:17'] });
});
