import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import avro from 'avsc';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliJson } from '../support/cli.ts';
import { postSigned } from '../support/sign.ts';
import { ROOT } from '../support/source-tree.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { writeRecords } from '../support/write-records.ts';

/** The schemas of Hookline 0.1.0. */
const OLD_SCHEMAS = join(ROOT, 'test/vectors/schemas-0.1');

type Row = { subject: string; state: string; id?: number };

let fixture: Fixture;
let oldId: number;
const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };

const of = (rows: readonly Row[], topic: string) =>
  rows.find(({ subject }) => subject === `${fixture.topic(topic)}-value`) ??
  expect.fail(`no row for ${topic}`);

/** As Hookline 0.1.0 wrote it. */
function oldRecord(entityId: string): Buffer {
  const schema = JSON.parse(readFileSync(join(OLD_SCHEMAS, 'events/payment-status.avsc'), 'utf8'));
  const type = avro.Type.forSchema(schema, { wrapUnions: 'never' });
  const source = JSON.stringify({ type: 'payment-status', entityId });
  const envelope = {
    eventId: `old-${entityId}`,
    type: 'payment-status',
    entityId,
    subscription: 'ledger-eu',
  };
  const head = Buffer.alloc(5);
  head.writeInt32BE(oldId, 1);
  const value = { ...envelope, receivedAt: 1_795_245_881_505, source, status: 'ACCC', pacs002: null };
  return Buffer.concat([head, type.toBuffer(value)]);
}

const OLD_TOPICS = ['payment-status', 'accounts-entries', 'collection-status', 'unclassified'];

/** The tool cannot read the old files any more: they are registered as Hookline 0.1.0 did. Gives their ids. */
/** As 0.x sent it: to Apicurio Registry 3.0, a schema with other blanks is another one. */
const oldSchema = (topic: string): string =>
  JSON.stringify(JSON.parse(readFileSync(join(OLD_SCHEMAS, `events/${topic}.avsc`), 'utf8')));

async function registerOld(into: Fixture): Promise<Record<string, number>> {
  const ids: Record<string, number> = {};
  for (const topic of OLD_TOPICS) {
    const subject = `${into.topic(topic)}-value`;
    const schema = oldSchema(topic);
    await registry('PUT', `/config/${subject}`, { compatibility: 'FULL_TRANSITIVE' });
    const { id } = (await registry('POST', `/subjects/${subject}/versions`, { schema })) as { id: number };
    ids[topic] = id;
  }
  return ids;
}

beforeAll(async () => {
  const stack = inject('stack');
  fixture = new Fixture(stack);
  oldId = (await registerOld(fixture))['payment-status'] ?? expect.fail('no id');
  await cli(fixture.env, 'topics', 'apply', '--partitions', '1');
  const messages = ['a', 'b'].map((key) => ({ key, value: oldRecord(key) }));
  await writeRecords(fixture.env, fixture.topic('payment-status'), messages);
});

afterAll(() => fixture[Symbol.asyncDispose]());

async function registry(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(inject('registryUrl') + path, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return response.json();
}

describe('subjects of 0.x', () => {
  it('do not take schemas 1.0 by themselves: check and push say so, and name the way', async () => {
    const checked = await cli(fixture.env, 'schemas', 'check', '--json');
    expect([checked.exitCode, of(JSON.parse(checked.out), 'payment-status').state]).toEqual([
      1,
      'not registered, and INCOMPATIBLE with version 1',
    ]);
    const pushed = await cli(fixture.env, 'schemas', 'push', '--json');
    expect(pushed.exitCode).toBe(1);
    expect(of(JSON.parse(pushed.out), 'payment-status').state).toMatch(
      /Fix: give each field .* a default.*push --major soft-deletes the versions in its way/,
    );
  });

  it('are compared field by field with what is registered', async () => {
    const { out, exitCode } = await cli(fixture.env, 'schemas', 'diff', '--json');
    expect(exitCode).toBe(1);
    const rows = (JSON.parse(out) as { subject: string; field: string; upgrade: string }[]).filter(
      ({ subject }) => subject === `${fixture.topic('payment-status')}-value`,
    );
    expect(rows).toContainEqual(expect.objectContaining({ field: 'source', upgrade: 'consumers first' }));
    expect(rows).toContainEqual(expect.objectContaining({ field: 'sourceRef', upgrade: 'any order' }));
  });

  it('stay beside schemas 1.0 at first: processes of both find theirs, and what a chart does at an upgrade succeeds', async () => {
    const kept = await cliJson<Row[]>(fixture.env, 'schemas', 'push', '--major', '--keep-old');
    expect(of(kept, 'payment-status').state).toBe('registered');
    const subject = `${fixture.topic('payment-status')}-value`;
    const old = oldSchema('payment-status');
    // What an ingress of 0.x asks for at its start.
    expect(await registry('POST', `/subjects/${subject}`, { schema: old })).toMatchObject({ version: 1 });
    expect(await registry('GET', `/config/${subject}`)).toMatchObject({
      compatibilityLevel: 'FULL_TRANSITIVE',
    });
    for (const verb of ['push', 'check'])
      expect((await cli(fixture.env, 'schemas', verb)).exitCode, verb).toBe(0);
    expect((await cli(fixture.env, 'schemas', 'push', '--keep-old')).exitCode).toBe(2);
  });

  it('are moved over once, and again without an effect', async () => {
    const moved = await cliJson<Row[]>(fixture.env, 'schemas', 'push', '--major');
    expect(of(moved, 'payment-status').state).toBe('registered; soft-deleted: version 1');
    const again = await cliJson<Row[]>(fixture.env, 'schemas', 'push', '--major');
    expect(of(again, 'payment-status')).toMatchObject({
      state: 'registered',
      id: of(moved, 'payment-status').id,
    });
    expect((await cli(fixture.env, 'schemas', 'check')).exitCode).toBe(0);
    const subject = `${fixture.topic('payment-status')}-value`;
    expect(await registry('GET', `/config/${subject}`)).toMatchObject({
      compatibilityLevel: 'FULL_TRANSITIVE',
    });
    expect(await registry('GET', `/subjects/${subject}/versions`)).toHaveLength(1);
  });

  it('are moved over where an earlier try was interrupted', async () => {
    const subject = `${fixture.topic('collection-status')}-value`;
    const schema = readFileSync(join(OLD_SCHEMAS, 'events/collection-status.avsc'), 'utf8');
    // As after a crash behind the registration: both are there, and nothing is checked.
    await registry('PUT', `/config/${subject}`, { compatibility: 'NONE' });
    await registry('POST', `/subjects/${subject}/versions`, {
      schema: JSON.stringify({ ...JSON.parse(schema), doc: 'another one' }),
    });
    const moved = await cliJson<Row[]>(fixture.env, 'schemas', 'push', '--major');
    expect(of(moved, 'collection-status').state).toMatch(/^registered; soft-deleted: version \d+$/);
    expect(await registry('GET', `/config/${subject}`)).toMatchObject({
      compatibilityLevel: 'FULL_TRANSITIVE',
    });
  });

  it('show at which rule they are left where a move was interrupted', async () => {
    const subject = `${fixture.topic('unclassified')}-value`;
    await registry('PUT', `/config/${subject}`, { compatibility: 'NONE' });
    const checked = await cliJson<Row[]>(fixture.env, 'schemas', 'check');
    expect(of(checked, 'unclassified').state).toMatch(/^registered; its compatibility is NONE.*schemas push/);
    expect(of(checked, 'payment-status').state).toBe('registered');
    await cliJson<Row[]>(fixture.env, 'schemas', 'push');
    expect(await registry('GET', `/config/${subject}`)).toMatchObject({
      compatibilityLevel: 'FULL_TRANSITIVE',
    });
  });

  it('are moved over by several at once as by one', async () => {
    const other = new Fixture(inject('stack'));
    await registerOld(other);
    const pushes = await Promise.all(
      [1, 2, 3, 4].map(() => cli(other.env, 'schemas', 'push', '--major', '--json')),
    );
    for (const { exitCode, notes, out } of pushes) expect([exitCode, notes], out).toEqual([0, '']);
    for (const topic of OLD_TOPICS) {
      const subject = `${other.topic(topic)}-value`;
      const versions = (await registry('GET', `/subjects/${subject}/versions`)) as number[];
      const ids = versions.map(async (version) => {
        const { id } = (await registry('GET', `/subjects/${subject}/versions/${version}`)) as { id: number };
        return id;
      });
      // Not one version: Apicurio Registry 2.6 takes the same schema twice at once, under one id.
      expect(new Set(await Promise.all(ids)).size, topic).toBe(1);
      expect(await registry('GET', `/config/${subject}`)).toMatchObject({
        compatibilityLevel: 'FULL_TRANSITIVE',
      });
    }
    expect((await cli(other.env, 'schemas', 'check')).exitCode).toBe(0);
    await other[Symbol.asyncDispose]();
  });

  it('keep their records readable: the ids of 0.x still resolve, beside those of 1.0', async () => {
    fixture.secrets('ledger-eu', {
      'subscription-id': keys.subscriptionId,
      'signing-secret': keys.signingSecret,
    });
    const { url } = await fixture.ingress();
    const body = '{"type":"payment-status","entityId":"c","payload":{"status":"ACCC"}}';
    expect((await postSigned(`${url}/webhooks/ledger-eu`, keys, body)).status).toBe(200);
    const records = await fixture.read('payment-status', 3);
    expect(
      records.map(({ record }) => [record?.entityId, record?.status, 'sourceRef' in (record ?? {})]),
    ).toEqual([
      ['a', 'ACCC', false],
      ['b', 'ACCC', false],
      ['c', 'ACCC', true],
    ]);
  });

  it('take 1.1 afterwards as any later version', async () => {
    const dir = join(fixture.dir, 'schemas');
    cpSync(join(ROOT, 'schemas'), dir, { recursive: true });
    const file = join(dir, 'events/payment-status.avsc');
    const schema = JSON.parse(readFileSync(file, 'utf8'));
    const field = { name: 'reason', type: ['null', 'string'], default: null, pointer: '/payload/reason' };
    writeFileSync(file, JSON.stringify({ ...schema, fields: [...schema.fields, field] }));
    const pushed = await cliJson<Row[]>({ ...fixture.env, SCHEMAS_DIR: dir }, 'schemas', 'push');
    expect(of(pushed, 'payment-status').state).toBe('registered');
  });

  it('take no version that an earlier one cannot be read with, though the latest can: check says so before', async () => {
    const dir = join(fixture.dir, 'schemas-2');
    cpSync(join(ROOT, 'schemas'), dir, { recursive: true });
    const file = join(dir, 'events/payment-status.avsc');
    const schema = JSON.parse(readFileSync(file, 'utf8'));
    const env = { ...fixture.env, SCHEMAS_DIR: dir };
    const write = (...fields: object[]) =>
      writeFileSync(file, JSON.stringify({ ...schema, fields: [...schema.fields, ...fields] }));
    const bonus = (type: string) => ({
      name: 'bonus',
      type: ['null', type],
      default: null,
      pointer: '/payload/bonus',
    });
    write(bonus('string'));
    await cliJson<Row[]>(env, 'schemas', 'push');
    write({ name: 'other', type: ['null', 'string'], default: null, pointer: '/payload/other' });
    await cliJson<Row[]>(env, 'schemas', 'push');
    write(bonus('long'));
    const checked = await cli(env, 'schemas', 'check', '--json');
    expect([checked.exitCode, of(JSON.parse(checked.out), 'payment-status').state]).toEqual([
      1,
      expect.stringMatching(/^not registered, and INCOMPATIBLE with version \d+$/),
    ]);
    const diff = await cli(env, 'schemas', 'diff', '--json');
    const rows = JSON.parse(diff.out) as {
      subject: string;
      version: number;
      field: string;
      upgrade: string;
    }[];
    expect([diff.exitCode, rows.map(({ field, upgrade }) => [field, upgrade])]).toEqual([
      1,
      expect.arrayContaining([
        ['bonus', 'any order'],
        ['bonus', 'not compatible'],
      ]),
    ]);
    expect((await cli(env, 'schemas', 'push')).exitCode).toBe(1);
  });

  it('that are not registered yet are not said to be without a difference', async () => {
    const other = new Fixture(inject('stack'));
    const { exitCode, notes } = await cli(other.env, 'schemas', 'diff');
    expect([exitCode, notes]).toEqual([1, expect.stringContaining('the registry has none of the subjects')]);
    expect(notes).not.toContain('No difference');
    await other[Symbol.asyncDispose]();
  });
});
