import { randomUUID } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { openCollector } from '../support/collector.ts';
import { type RunningStore, startS3Mock } from '../support/object-store/s3-bucket.ts';
import { postSigned } from '../support/sign.ts';
import { ROOT } from '../support/source-tree.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

/** In members that no field of a schema covers: it may be in the object store alone. */
const CANARY = `canary-${randomUUID()}`;
const TOPICS = ['payment-status', 'collection-status', 'accounts-entries', 'unclassified', 'dead-letter'];

const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
let store: RunningStore;
let collector: Awaited<ReturnType<typeof openCollector>>;
let fixture: Fixture;
let env: Record<string, string | undefined>;
let ingress: Awaited<ReturnType<Fixture['ingress']>>;

/** The schemas with these policies. */
function schemasWith(policies: Readonly<Record<string, string>>): string {
  const dir = join(fixture.dir, 'schemas');
  cpSync(join(ROOT, 'schemas'), dir, { recursive: true });
  for (const [topic, source] of Object.entries(policies)) {
    const file = join(dir, `events/${topic}.avsc`);
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), source }));
  }
  return dir;
}

beforeAll(async () => {
  store = await startS3Mock();
  Object.assign(process.env, store.env);
  collector = await openCollector();
  const stack = inject('stack');
  fixture = new Fixture(stack);
  const SCHEMAS_DIR = schemasWith({
    'payment-status': 'reference',
    'collection-status': 'omit',
    unclassified: 'reference',
  });
  env = { ...fixture.env, ...store.env, SCHEMAS_DIR };
  for (const args of [
    ['topics', 'apply', '--partitions', '1'],
    ['schemas', 'push'],
  ]) {
    const { exitCode, out, notes } = await cli(env, ...args);
    if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${notes} ${out}`);
  }
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
  });
  ingress = await fixture.ingress({
    ...store.env,
    SCHEMAS_DIR,
    SPOOL_DIR: join(fixture.dir, 'spool'),
    BODY_STORE_DEADLINE_MS: '1000',
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
}, 240_000);

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

const post = async (body: string) => {
  const answer = await postSigned(`${ingress.url}/webhooks/ledger-eu`, keys, body);
  return [answer.status, (JSON.parse(answer.text) as { stored: string }).stored];
};
const message = (type: string, more: object = {}) =>
  JSON.stringify({ type, entityId: `e-${type}`, payload: { status: 'ACCC', name: CANARY, ...more } });

/** Every key, header and value of all topics, as they are in Kafka. */
async function everythingInKafka(): Promise<string> {
  const all: string[] = [];
  for (const topic of TOPICS)
    for (const { key, headers, value } of await fixture.read(topic, 0, { values: 'raw' }))
      all.push(String(key), JSON.stringify(headers), value?.toString('latin1') ?? '');
  return all.join('\n');
}

const spoolFiles = () =>
  readdirSync(join(fixture.dir, 'spool')).map((name) =>
    readFileSync(join(fixture.dir, 'spool', name), 'latin1'),
  );

describe('a message whose type keeps none in Kafka', () => {
  it('is nowhere but in the object store: not in topics, the spool, headers, logs, metrics or traces', async () => {
    expect(await post(message('payment-status'))).toEqual([200, 'kafka']);
    expect(await post(message('collection-status'))).toEqual([200, 'kafka']);
    // A type that is no text is drift: the message is needed.
    expect(await post(message('collection-status').replace('"e-collection-status"', '7'))).toEqual([
      200,
      'kafka',
    ]);
    expect(await post(message('unheard-of'))).toEqual([200, 'kafka']);
    // Its type cannot be read.
    expect(await post(`${message('payment-status')},`)).toEqual([200, 'kafka']);
    await store.kill();
    expect(await post(message('payment-status', { n: 2 }))).toEqual([200, 'spool']);
    expect(spoolFiles().filter((bytes) => bytes.includes(CANARY))).toEqual([]);
    const metrics = await ingress.process.metrics();
    await store.start();
    await ingress.process.logged('the spool is drained', 60_000);
    await until('spans were sent', () => collector.spans.length > 4, 30_000);

    expect(metrics).not.toContain(CANARY);
    expect(fixture.logs()).not.toContain(CANARY);
    expect(JSON.stringify(collector.spans)).not.toContain(CANARY);
    expect(await everythingInKafka()).not.toContain(CANARY);
    expect(spoolFiles().filter((bytes) => bytes.includes(CANARY))).toEqual([]);
  });

  it('is there where its policy keeps it: the search would find it', async () => {
    expect(await post(message('accounts-entries'))).toEqual([200, 'kafka']);
    expect(await everythingInKafka()).toContain(CANARY);
  });

  it('becomes a record with a reference, or without any, as the policy says', async () => {
    const [payment] = await fixture.read('payment-status');
    expect(payment?.record).toMatchObject({ source: null, status: 'ACCC', sourceRef: { omitted: [] } });
    const [typed, drifted] = await fixture.read('collection-status', 2);
    expect(typed?.record).toMatchObject({ source: null, sourceRef: null, entityId: 'e-collection-status' });
    expect(drifted?.record).toMatchObject({ source: null, sourceRef: { omitted: [] }, entityId: null });
  });

  it('is sealed as a dead-letter record, and opened by who has the key', async () => {
    const list = await cli(env, 'dlq', 'list', '--json');
    const [{ at }] = JSON.parse(list.out) as [{ at: string }];
    expect((await cli(env, 'dlq', 'show', at)).out).toContain('hidden');
    expect((await cli(env, 'dlq', 'show', at, '--reveal')).out).toContain(CANARY);
    const without = await cli({ ...env, SEALING_KEY_FILE: undefined }, 'dlq', 'show', at, '--reveal');
    expect([without.exitCode, without.notes]).toEqual([1, expect.stringContaining('is sealed, and no key')]);
    const redriven = await cli(env, 'dlq', 'redrive', '--json');
    expect(JSON.parse(redriven.out)).toMatchObject([{ outcome: 'dead-lettered', code: 'UNPARSABLE' }]);
    const raw = await fixture.read('dead-letter', 2, { values: 'raw' });
    expect(raw.filter(({ value }) => value?.includes(CANARY))).toEqual([]);
  });

  it.each([
    ['reference', { BODY_STORE: undefined, BODY_STORE_ENDPOINT: undefined }, 'BODY_STORE'],
    ['omit', { SEALING_KEY_FILE: undefined }, 'SEALING_KEY_FILE'],
  ])('"%s" is refused at the start without what it needs', async (source, without, missing) => {
    const SCHEMAS_DIR = schemasWith({
      'payment-status': source,
      'collection-status': 'keep',
      unclassified: 'keep',
    });
    const running = fixture.start('src/ingress/main.ts', { ...store.env, ...without, SCHEMAS_DIR });
    expect(await running.end()).toBe(78);
    expect(running.written()).toContain(`events/payment-status.avsc: "source": "${source}" needs ${missing}`);
  });
});
