import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENCRYPTION_KEY, ReceiverFixture } from '../../support/receiver-fixture.ts';
import { ROOT } from '../../support/source-tree.ts';
import { until } from '../../support/until.ts';
import { Night } from './night.ts';
import { untilSeen } from './prometheus.ts';
import { bySection } from './runbook.ts';

const namespace = 'payments';
let receiver: ReceiverFixture;
let night: Night;

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
  night = await Night.begin();
  await night.watch(namespace, 'ingress', receiver.ingress.process);
  // The counters have been seen before they count.
  await untilSeen(
    'it is scraped',
    async () => (await night.prometheus.query('hookline_ready == 1')).length > 0,
    20_000,
  );
});

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
});

describe('at night, events', () => {
  it('that no key opens are dead-letter records: the key is added, and they are redriven', async () => {
    const { env } = receiver.fixture;
    receiver.fixture.secrets('ledger-eu', { 'encryption-key': 'n'.repeat(32) });
    const deadLetters = () => night.run('HooklineDeadLetters', 'hookline dlq list', env);
    await until('a dead-letter record is there', async () => {
      await receiver.trigger({ event: 'payment-status', sealed: true });
      return (await deadLetters()).includes('DECRYPT');
    });
    await night.fires('HooklineDeadLetters', { namespace, stage: 'DECRYPT' });
    const [, place = ''] = /(\d+:\d+)/.exec(await deadLetters()) ?? [];
    expect(await night.run('HooklineDeadLetters', 'hookline dlq show AT', env, { AT: place })).toContain(
      'SECRETS_DIR/ledger-eu/encryption-key',
    );

    bySection('HooklineDeadLetters', "`DECRYPT`: add the key to the ref's Secret (`encryption-key`)");
    receiver.fixture.secrets('ledger-eu', { 'encryption-key': `${'n'.repeat(32)}\n${ENCRYPTION_KEY}` });
    await night.run('HooklineDeadLetters', 'hookline dlq redrive --dry-run', env);
    await night.run('HooklineDeadLetters', 'hookline dlq redrive', env);
    const events = await receiver.fixture.read('payment-status');
    expect(events.some(({ record }) => String(record?.source).includes('FIToFIPmtStsRpt'))).toBe(true);
    await night.resolves('HooklineDeadLetters', { namespace });
  });

  it('of a new shape and of a new type are whole, and get their schemas', async () => {
    const { fixture } = receiver;
    const trigger = () =>
      Promise.all([
        receiver.trigger({ event: 'payment-status', set: { '/payload/status': 7 } }),
        receiver.trigger({ event: 'payment-status', unknownType: 'card-status' }),
      ]);
    await trigger();
    const topic = fixture.topic('payment-status');
    await night.fires('HooklineSchemaDrift', { namespace, topic, field: 'status' });
    await night.fires('HooklineUnclassified', { namespace });
    const drifted = await night.run(
      'HooklineSchemaDrift',
      'hookline tail TOPIC --since 1h --json',
      fixture.env,
      { TOPIC: topic, more: `--reveal ${await limit('payment-status')}` },
    );
    expect(drifted).toMatch(/"status":null,.*\\"status\\":7|\\"status\\":7.*"status":null/);
    const tail = 'hookline tail unclassified --since 1h --json';
    const strange = await night.run('HooklineUnclassified', tail, fixture.env, { more: '--limit 1' });
    expect(strange).toContain('card-status');

    bySection('HooklineSchemaDrift', 'in a copy of the schema files add a field of the new type');
    const env = { ...fixture.env, SCHEMAS_DIR: newSchemas(fixture.dir) };
    await night.run('HooklineSchemaDrift', 'hookline schemas push', env);
    bySection('HooklineUnclassified', 'write a schema file for it');
    await night.run('HooklineUnclassified', 'hookline topics apply', env);
    const next = await fixture.ingress({ SCHEMAS_DIR: env.SCHEMAS_DIR });
    await night.watch(namespace, 'ingress', next.process);
    await receiver.ingress.process.stop();
    await receiver.seed(`${next.url}/webhooks/ledger-eu`);
    await trigger();
    const codes = (await fixture.read('payment-status')).map(({ record }) => record?.statusCode);
    expect(codes).toContain(7);
    expect((await fixture.read('card-status')).map(({ record }) => record?.type)).toEqual(['card-status']);
    await night.resolves('HooklineUnclassified', { namespace });
    await night.resolves('HooklineSchemaDrift', { namespace });
  });
});

/** So that the look ends: an operator ends it by Ctrl-C. */
const limit = async (topic: string) => `--limit ${(await receiver.fixture.read(topic)).length}`;

/** A copy of the schemas in which the status is a number beside, and a file for the type that was not known. */
function newSchemas(dir: string): string {
  const copy = join(dir, 'schemas');
  cpSync(join(ROOT, 'schemas'), copy, { recursive: true });
  const path = join(copy, 'events/payment-status.avsc');
  const schema = JSON.parse(readFileSync(path, 'utf8'));
  const fields = schema.fields.filter(({ name }: { name: string }) => name !== 'status');
  const added = { name: 'statusCode', type: ['null', 'long'], default: null, pointer: '/payload/status' };
  writeFileSync(path, JSON.stringify({ ...schema, fields: [...fields, added] }));
  const envelope = JSON.parse(readFileSync(join(copy, 'events/collection-status.avsc'), 'utf8'));
  const card = { ...envelope, name: 'CardStatus', topic: 'card-status', eventTypes: ['card-status'] };
  writeFileSync(join(copy, 'events/card-status.avsc'), JSON.stringify(card));
  return copy;
}
