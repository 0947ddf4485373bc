import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newId } from '../../src/crypto/ids.ts';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { cli, cliJson, cliUntil } from '../support/cli.ts';
import { setTopicConfig, topicConfig, untilTopicHas } from '../support/topic-config.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';
import { writeRecords } from '../support/write-records.ts';

let fixture: Fixture;
let sandbox: RunningSandbox;

beforeAll(async () => {
  fixture = new Fixture(inject('stack'));
  sandbox = await startSandbox({ port: 0 });
  Object.assign(fixture.env, fixture.controlEnv({ provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' }), {
    SANDBOX_URL: sandbox.url,
  });
});

afterAll(async () => {
  await sandbox.stop();
  await fixture[Symbol.asyncDispose]();
});

type Row = Record<string, string>;
type Finding = { check: string; state: string; finding: string; remedy: string };

describe('hookline topics', () => {
  it('plans, applies, and then has nothing to do; exit code 1 tells that there is', async () => {
    const plan = await cli(fixture.env, 'topics', 'plan');
    expect([plan.exitCode, plan.out]).toEqual([1, expect.stringContaining('would be created')]);
    const rows = await cliJson<Row[]>(fixture.env, 'topics', 'apply', '--partitions', '4');
    expect(rows.map(({ topic }) => topic)).toContain(fixture.topic('payment-status'));
    expect((await cli(fixture.env, 'topics', 'plan', '--partitions', '4')).exitCode).toBe(0);
    expect((await cli(fixture.env, 'topics', 'apply', '--partitions', '4')).exitCode).toBe(0);
  });

  it('that are interrupted while they are applied say that some may be made, and how to see which', async () => {
    const env = { ...fixture.env, TOPIC_PREFIX: `${fixture.env.TOPIC_PREFIX}-interrupted` };
    const interrupt = new AbortController();
    const applied = cliUntil(interrupt.signal, env, 'topics', 'apply');
    const isMade = (topics: string[]) => topics.some((topic) => topic.startsWith(`${env.TOPIC_PREFIX}.`));
    await asAdmin(env, (admin) => until('one is made', async () => isMade(await admin.listTopics())));
    interrupt.abort(new Error('interrupted'));
    expect(await applied).toMatchObject({
      exitCode: 1,
      out: '',
      notes: expect.stringContaining(
        'interrupted; topics may have been created or changed: "hookline topics plan" shows what is left to do',
      ),
    });
  });

  it('says of topics that the doctor calls a fault what is wrong, and shows the partitions that they have', async () => {
    const env = { ...fixture.env, MIN_INSYNC_REPLICAS: '2' };
    const { exitCode, out } = await cli(env, 'topics', 'plan', '--partitions', '12', '--json');
    const row = JSON.parse(out).find(({ topic }: Row) => topic === fixture.topic('payment-status'));
    // `apply` has nothing to do.
    expect([exitCode, row]).toEqual([
      0,
      expect.objectContaining({ state: 'differs, and stays', partitions: 4, replicas: 1 }),
    ]);
    expect(row.remarks).toContain('has 4 partitions, not 12: changing it would move keys, so it stays');
    expect(row.remarks).toContain(
      'its replication factor is 1, must be at least 2: give its partitions 2 or more replicas',
    );
  });

  it('sets a setting that differs, leaves the others, and says what it does not change', async () => {
    const name = fixture.topic('payment-status');
    await setTopicConfig(fixture.env, name, { 'max.message.bytes': '5', 'retention.ms': '1234567' });
    const plan = () => cli(fixture.env, 'topics', 'plan', '--partitions', '4');
    await until('the brokers know of it', async () => (await plan()).exitCode === 1);
    const [row] = (await cliJson<Row[]>(fixture.env, 'topics', 'apply')).filter(
      ({ topic }) => topic === name,
    );
    expect(row).toMatchObject({
      state: 'changed',
      remarks: expect.stringContaining('max.message.bytes: 5 -> '),
    });
    expect(row?.remarks).toContain('message.timestamp.type: CreateTime -> LogAppendTime');
    expect(row?.remarks).toContain('has 4 partitions, not 6');
    const settings = await topicConfig(fixture.env, name);
    expect([settings['retention.ms'], settings['cleanup.policy']]).toEqual(['1234567', 'delete']);
  });
});

describe('hookline topics apply', () => {
  const apply = (...more: string[]) => cli(fixture.env, 'topics', 'apply', '--partitions', '4', ...more);

  it('makes of a topic without records what it has to be, also where somebody created it with the usual settings', async () => {
    const name = fixture.topic('subscriptions');
    const ofBrokers = { 'cleanup.policy': 'delete', 'retention.ms': '604800000' };
    await setTopicConfig(fixture.env, name, ofBrokers);
    expect(await apply()).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('cleanup.policy: delete -> compact'),
    });
    await untilTopicHas(fixture.env, name, { 'cleanup.policy': 'compact' });
  });

  it('ends with 1 where the state is deleted by time, until it may delete records', async () => {
    const name = fixture.topic('subscriptions');
    await writeRecords(fixture.env, name, [{ key: 'somebody', value: '{}' }]);
    await setTopicConfig(fixture.env, name, { 'cleanup.policy': 'delete' });
    await until('the brokers know of it', async () => (await apply()).exitCode === 1);
    expect((await apply()).out).toContain('cleanup.policy stays delete');
    const dead = fixture.topic('dead-letter');
    const raised = String(180 * 86_400_000);
    await setTopicConfig(fixture.env, dead, { 'retention.ms': raised });
    expect((await apply('--allow-data-loss', '--topic', name)).exitCode).toBe(0);
    expect(await topicConfig(fixture.env, dead)).toMatchObject({ 'retention.ms': raised });
    expect(await apply('--topic', 'payments.nothing')).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining(`--topic is "payments.nothing": give one of `),
    });
    await until('the brokers know of it', async () => (await apply()).exitCode === 0);
  });
});

describe('hookline schemas', () => {
  it('checks, pushes, and then finds every file registered', async () => {
    const check = await cli(fixture.env, 'schemas', 'check');
    expect([check.exitCode, check.out]).toEqual([
      1,
      expect.stringContaining('not registered, but compatible: run hookline schemas push'),
    ]);
    const pushed = await cliJson<{ id: number; subject: string }[]>(fixture.env, 'schemas', 'push');
    expect(pushed.every(({ id }) => id > 0)).toBe(true);
    expect(pushed.map(({ subject }) => subject)).toContain(`${fixture.topic('payment-status')}-value`);
    expect((await cli(fixture.env, 'schemas', 'check')).exitCode).toBe(0);
    const config = await fetch(
      `${fixture.env.SCHEMA_REGISTRY_URL}/config/${fixture.topic('payment-status')}-value`,
    );
    expect(await config.json()).toEqual({ compatibilityLevel: 'FULL_TRANSITIVE' });
  });
});

describe('hookline doctor', () => {
  const findings = async (env = fixture.env) =>
    JSON.parse((await cli(env, 'doctor', '--json')).out) as Finding[];

  it('finds nothing wrong where nothing is', async () => {
    const { exitCode, out } = await cli(fixture.env, 'doctor');
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/brokers\s+ok/)]);
    const checks = (await findings()).filter(({ state }) => state === 'ok').map(({ check }) => check);
    expect(checks).toEqual(
      expect.arrayContaining(['brokers', 'registry', 'sealing key', 'token', 'subscriptions API', 'clock']),
    );
  });

  it.each([
    ['no broker', { KAFKA_BROKERS: '127.0.0.1:9' }, 'brokers', 'KAFKA_BROKERS'],
    ['no registry', { SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' }, 'registry', 'SCHEMA_REGISTRY_URL'],
    [
      'no topics',
      { TOPIC_PREFIX: 'nothing-here' },
      'topic nothing-here.dead-letter',
      'hookline topics apply',
    ],
    [
      'no schemas',
      { TOPIC_PREFIX: 'nothing-here' },
      'subject nothing-here.unclassified-value',
      'hookline schemas push',
    ],
    ['no token', { PROVIDER_AUTH_URL: 'http://127.0.0.1:9' }, 'token', 'PROVIDER_AUTH_URL'],
    ['a wrong JWT', { PROVIDER_JWT_FILE: 'JWT' }, 'token', 'the JWT'],
    ['no configuration', { KAFKA_BROKERS: undefined }, 'configuration', 'set or correct the variable'],
  ] as [string, Record<string, string | undefined>, string, string][])(
    'names the remedy for %s, and ends with 1',
    async (_, env, check, remedy) => {
      const replaced = env.PROVIDER_JWT_FILE
        ? { PROVIDER_JWT_FILE: fixture.file('wrong-jwt', 'not-the-one') }
        : env;
      const { exitCode, out } = await cli({ ...fixture.env, ...replaced }, 'doctor', '--json');
      const [finding] = (JSON.parse(out) as Finding[]).filter((one) => one.check === check);
      expect([exitCode, finding?.state, finding?.remedy]).toEqual([
        1,
        'FAULT',
        expect.stringContaining(remedy),
      ]);
      expect(out).not.toContain('not-the-one');
    },
  );

  it('warns of a list without addresses, by which nothing is found that a call without an answer has made', async () => {
    const sandboxUrl = fixture.env.PROVIDER_BASE_URL;
    const seeded = await fetch(`${sandboxUrl}/_sandbox/subscriptions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'https://elsewhere.example/x', events: ['payment-status'] }),
    });
    const { id } = (await seeded.json()) as { id: string };
    const PROVIDER_DIALECT_FILE = fixture.file('dialect.json', '{"list":{"url":"/address"}}');
    expect(await findings({ ...fixture.env, PROVIDER_DIALECT_FILE })).toContainEqual(
      expect.objectContaining({
        check: 'subscriptions API',
        state: 'warning',
        remedy: 'correct "list.url" in PROVIDER_DIALECT_FILE if the provider shows them',
      }),
    );
    await fetch(`${sandboxUrl}/_sandbox/subscriptions/${id}`, { method: 'DELETE' });
  });

  it('names secret files that can not be used or that others can read', async () => {
    fixture.secrets('broken', { 'signing-secret': 'short' });
    expect(await findings()).toContainEqual(
      expect.objectContaining({ check: 'secrets of broken', state: 'FAULT' }),
    );
    rmSync(join(fixture.dir, 'secrets/broken'), { recursive: true });
    const path = join(fixture.dir, 'secrets/open');
    fixture.secrets('open', { 'subscription-id': newId(), 'signing-secret': newId() });
    chmodSync(join(path, 'subscription-id'), 0o666);
    chmodSync(join(path, 'signing-secret'), 0o600);
    const ofOpen = async () => (await findings()).filter(({ check }) => check === 'secrets of open');
    expect(await ofOpen()).toMatchObject([{ state: 'ok' }]);
    chmodSync(join(path, 'signing-secret'), 0o666);
    expect(await ofOpen()).toMatchObject([
      { state: 'ok' },
      {
        state: 'warning',
        finding: `other users can read ${path}/signing-secret`,
        remedy: `chmod 600 ${path}/signing-secret`,
      },
    ]);
    rmSync(path, { recursive: true });
  });

  it('names a subject whose registry would take an incompatible schema', async () => {
    const subject = `${fixture.topic('payment-status')}-value`;
    const setLevel = (compatibility: string) =>
      fetch(`${fixture.env.SCHEMA_REGISTRY_URL}/config/${subject}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ compatibility }),
      });
    await setLevel('NONE');
    expect(await findings()).toContainEqual(
      expect.objectContaining({
        check: `subject ${subject}`,
        state: 'warning',
        remedy: 'hookline schemas push',
        finding: expect.stringContaining('compatibility is NONE'),
      }),
    );
    await setLevel('FULL_TRANSITIVE');
  });
});

describe('hookline', () => {
  it.each([
    [['nonsense'], 2, "unknown command 'nonsense'"],
    [['topics', 'apply', '--partitions', 'many'], 2, '--partitions is "many"'],
    [['tail'], 2, 'topic'],
    [['command', 'subscription.create', '--ref', 'a', '--extra', '{'], 2, '--extra is not a JSON'],
    [['trigger', 'refunds'], 2, 'event'],
    [['trigger', 'payment-status'], 2, 'subscription'],
  ])('%j ends with %i and a sentence, never a stack trace', async (args, exitCode, sentence) => {
    const called = await cli(fixture.env, ...args);
    expect([called.exitCode, called.notes]).toEqual([exitCode, expect.stringContaining(sentence)]);
    expect(called.notes).not.toMatch(/\n\s+at /);
  });

  it('without what it needs says what that is, and ends with 2; without a sandbox it says where it looked', async () => {
    const unset = await cli({}, 'topics', 'plan');
    expect([unset.exitCode, unset.notes]).toEqual([2, expect.stringContaining('KAFKA_BROKERS is not set')]);
    const unreachable = await cli({ SANDBOX_URL: 'http://127.0.0.1:9' }, 'trigger', 'payment-status');
    expect([unreachable.exitCode, unreachable.notes]).toEqual([
      1,
      expect.stringContaining('no sandbox answers at http://127.0.0.1:9'),
    ]);
  });
});
