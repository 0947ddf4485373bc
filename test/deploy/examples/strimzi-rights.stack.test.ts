import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../../src/cli/shell/connections.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { restoreVerified } from '../../../src/core/delivery.ts';
import { readSealingKeys } from '../../../src/crypto/sealing.ts';
import { TopicSafety } from '../../../src/kafka/admin/watch-safety.ts';
import { openKafka } from '../../../src/kafka/open-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';
import { cli } from '../../support/cli.ts';
import { type Finding, readiness } from '../../support/secure/secure-fixture.ts';
import { postSigned } from '../../support/sign.ts';
import { setTopicConfig } from '../../support/topic-config.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import { denied, rights, USERS } from './strimzi-rights.ts';

const PASSWORD = 'correct-horse-battery';
const REFUSED = 'commands are not read: the brokers refuse the credentials or a right, trying again';
const COMMAND_TOPICS = 'payments.commands,payments.commands-ledger';

let stack: Stack;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let fixture: Fixture;
let secured: string;

/** A broker where nobody may do anything but what the example's users may, and the tests, who come in by another door. */
beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  secured = `127.0.0.1:${port}`;
  stack = await startStack({
    env: { ...process.env, HOOKLINE_STACK: 'jvm' },
    withRegistry: false,
    shortLived: true,
    kafka: {
      listeners: [{ name: 'SASL', port, protocol: 'SASL_PLAINTEXT' }],
      properties: {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
        'listener.name.sasl.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
        'listener.name.sasl.scram-sha-512.sasl.jaas.config':
          'org.apache.kafka.common.security.scram.ScramLoginModule required;',
      },
      scramUsers: USERS.map((name) => ({ mechanism: 'SCRAM-SHA-512', name, password: PASSWORD })),
    },
  });
  const registryUrl = inject('registryUrl');
  fixture = new Fixture({ brokers: stack.brokers, registryUrl }, 'payments');
  fixture.env.COMMAND_TOPICS = COMMAND_TOPICS;
  for (const args of [
    ['topics', 'apply'],
    ['schemas', 'push'],
  ]) {
    const { exitCode, notes } = await cli(fixture.env, ...args);
    expect(notes.includes('can not') || exitCode !== 0, notes).toBe(false);
  }
  const admin = new kafkajs.Kafka({ brokers: stack.brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createAcls({ acl: rights() });
  await admin.disconnect();
  sandbox = await startSandbox({ port: 0, retryScheduleS: [] });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await sandbox?.stop();
  await stack?.stop();
});

/** The variables of one of the example's users. */
const as = (user: string) => ({
  KAFKA_BROKERS: secured,
  KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
  KAFKA_USERNAME: user,
  KAFKA_PASSWORD_FILE: fixture.file(`password-${user}`, PASSWORD),
});
const cliAs = (user: string, ...args: string[]) => cli({ ...fixture.env, ...as(user) }, ...args);

const kafkaAs = (user: string) =>
  openKafka({
    settings: loadConfig({ source: nodeSource({ ...fixture.env, ...as(user) }) }, 'kafka').kafka,
    files: { renewed() {}, unusable() {} },
    clock: systemClock,
    clientId: 'test',
    log: () => {},
  });

describe('with the rights of the Strimzi example and no others', () => {
  it('a command creates a subscription, its webhooks come in, and an operator sees and redrives', async () => {
    const ingress = await fixture.ingress(as('hookline-ingress'));
    const control = await fixture.control(
      { provider: sandbox.url, publicUrl: ingress.url },
      { ...as('hookline-control'), CONTROL_GROUP_ID: undefined },
    );
    const create = [
      'command',
      'subscription.create',
      '--ref',
      'ledger-eu',
      '--events',
      'payment_status',
      '--wait',
    ];
    const created = await cliAs('hookline-operator', ...create);
    expect(created.out + created.notes).toContain('SUCCEEDED');

    const trigger = { event: 'payment-status', count: 3, wait: 'final' };
    const answer = await fetch(`${sandbox.url}/_sandbox/trigger`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(trigger),
    });
    const { executions } = (await answer.json()) as { executions: { status: number }[] };
    expect(executions.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await fixture.read('payment-status', 3)).toHaveLength(3);

    const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
    fixture.secrets('broken', {
      'subscription-id': keys.subscriptionId,
      'signing-secret': keys.signingSecret,
    });
    const { url } = await fixture.ingress(as('hookline-ingress'));
    expect((await postSigned(`${url}/webhooks/broken`, keys, '{"no json')).status).toBe(200);
    expect((await cliAs('hookline-operator', 'dlq', 'list')).out).toContain('PARSE');
    expect((await cliAs('hookline-operator', 'dlq', 'redrive')).notes).not.toContain('refuse');

    expect((await cliAs('hookline-control', 'doctor')).out).not.toMatch(/refuse|authori[sz]/i);
    expect([await ingress.process.stop(), await control.stop()]).toEqual([0, 0]);
    expect(fixture.logs()).not.toMatch(/AUTHORIZATION_FAILED|not authorized/i);
  }, 120_000);

  it('a team has its subscriptions in a file, and control fixes what drifts of them', async () => {
    const control = await fixture.control(
      { provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' },
      {
        ...as('hookline-control'),
        CONTROL_GROUP_ID: undefined,
        RECONCILE: 'repair',
        RECONCILE_INTERVAL_MS: '500',
      },
    );
    const text = 'topic: payments.commands-ledger\nsubscriptions:\n  by-file: { events: [payment_status] }\n';
    const file = fixture.file('subscriptions.yaml', text);
    const applied = await cliAs('ledger', 'subscriptions', 'apply', '-f', file);
    expect(applied.out + applied.notes).toContain('Applied: 1 succeeded, 0 failed.');
    const ids = async () => {
      const all = await (await fetch(`${sandbox.url}/_sandbox/subscriptions`)).json();
      return (all as { id: string; url: string }[])
        .filter(({ url }) => url.endsWith('/by-file'))
        .map(({ id }) => id);
    };
    const [lost] = await ids();
    await fetch(`${sandbox.url}/_sandbox/subscriptions/${lost}`, { method: 'DELETE' });
    await until('it is there again', async () => (await ids()).some((id) => id !== lost), 60_000);
    expect(await control.stop()).toBe(0);
    expect(fixture.logs()).not.toMatch(/AUTHORIZATION_FAILED|not authorized/i);
  }, 120_000);

  it.each([
    [
      'topic',
      'payments.commands-ledger',
      /commands-ledger: this user may not read it\): grant .*Read on this topic/,
      kafkajs.AclOperationTypes.READ,
    ],
    [
      'group',
      'hookline-control',
      /group hookline-control: this user may not use it\): grant Read on this group/,
      // Also to ask what was read in it.
      kafkajs.AclOperationTypes.ALL,
    ],
  ] as const)(
    'control that may not read the %s %s waits, says so, and goes on when it may',
    async (type, name, why, operation) => {
      const env = { ...as('hookline-control'), CONTROL_GROUP_ID: undefined };
      const urls = { provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' };
      const running = await fixture.control(urls, env);
      const admin = new kafkajs.Kafka({ brokers: stack.brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
      await admin.connect();
      const right = denied('hookline-control', name, type, operation);
      await admin.createAcls({ acl: [right] });
      const saysWhy = async (control: typeof running) =>
        why.test((await readiness(await control.adminUrl())).reasons);
      await until('it says so', () => saysWhy(running), 30_000);
      const { err } = await running.logged(REFUSED);
      expect(err).toMatchObject({ code: 'KAFKA_REFUSED', message: expect.stringMatching(why) });
      const started = fixture.start('src/control/main.ts', { ...fixture.controlEnv(urls), ...env });
      await until('one that starts says so too', () => saysWhy(started), 30_000);
      const isUnknown = started.lines.some(({ msg }) => msg?.startsWith('it is not known whether commands'));
      expect(isUnknown).toBe(type === 'group');
      await admin.deleteAcls({ filters: [right] });
      await admin.disconnect();
      const sent = ['command', 'subscription.create', '--ref', `by-${type}`, '--events', 'payment_status'];
      expect((await cliAs('hookline-operator', ...sent, '--wait')).out).toContain('SUCCEEDED');
      for (const control of [running, started]) {
        await control.logged('reading commands');
        await until('it is ready', async () => (await readiness(await control.adminUrl())).status === 200);
      }
      await running.logged('commands are read again');
      expect(await Promise.all([running.stop(), started.stop()])).toEqual([0, 0]);
      const lines = [running, started].flatMap((control) => control.lines);
      expect(lines.filter(({ level }) => level === 'fatal')).toEqual([]);
    },
    120_000,
  );

  it.each([
    ['READ', /command-results: this user may not read it\): grant .*Read on this topic/, 45_000],
    // As soon as it has written there.
    ['WRITE', /refuse the record .*: grant Write on payments.command-results/, 10_000],
  ] as const)(
    'control without the right to %s results says so while commands wait for them, and goes on when it has it',
    async (operation, why, readyMs) => {
      const env = { ...as('hookline-control'), CONTROL_GROUP_ID: undefined };
      const control = await fixture.control({ provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' }, env);
      const admin = new kafkajs.Kafka({ brokers: stack.brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
      await admin.connect();
      const operations = kafkajs.AclOperationTypes;
      const right = denied('hookline-control', 'payments.command-results', 'topic', operations[operation]);
      await admin.createAcls({ acl: [right] });
      const adminUrl = await control.adminUrl();
      const ref = `less-${operation.toLowerCase()}`;
      const create = ['command', 'subscription.create', '--ref', ref, '--events', 'payment_status', '--wait'];
      const created = cliAs('hookline-operator', ...create);
      await until('it says so', async () => why.test((await readiness(adminUrl)).reasons), 30_000);
      await admin.deleteAcls({ filters: [right] });
      await admin.disconnect();
      expect((await created).out).toContain('SUCCEEDED');
      await until('it is ready', async () => (await readiness(adminUrl)).status === 200, readyMs);
      expect(await control.stop()).toBe(0);
    },
    120_000,
  );

  it('a probe is verified, and the spool of an ingress that is gone is drained with the rights of ingress', async () => {
    const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
    fixture.secrets('hookline-probe', {
      'subscription-id': keys.subscriptionId,
      'signing-secret': keys.signingSecret,
    });
    const SPOOL_DIR = join(fixture.dir, 'spool');
    const { url, process } = await fixture.ingress({ ...as('hookline-ingress'), SPOOL_DIR });
    const target = await process.adminUrl();
    const verified = await cliAs('hookline-verify', 'verify', '--url', url, '--target', target);
    expect(verified.notes).toBe('Verdict: well.');
    expect(await process.stop()).toBe(0);

    const row = { ...keys, mediaType: 'json', receivedAt: Date.now(), traceparent: undefined } as const;
    const body = Buffer.from('{"type":"hookline-probe","entityId":"spooled"}');
    const sealingKeys = readSealingKeys(fixture.env.SEALING_KEY_FILE);
    const options = { dir: SPOOL_DIR, maxBytes: 1_000_000, sealingKeys, clock: systemClock };
    const spool = await Spool.open({ ...options, onDeath: () => {} });
    await spool.append(restoreVerified({ ...row, ref: 'hookline-probe', body }));
    await spool.close();
    const env = { ...fixture.env, ...as('hookline-ingress'), SPOOL_DIR };
    const drained = await cli(env, 'spool', 'drain', '--unattended');
    expect(drained).toMatchObject({ exitCode: 0, out: '1 deliveries drained, none left' });
  }, 120_000);

  it.each([
    ['hookline-verify', 'read', 'payments.payment-status'],
    ['hookline-verify', 'write', 'payments.probe'],
    ['hookline-ingress', 'read', 'payments.payment-status'],
    ['hookline-ingress', 'read', 'payments.commands'],
    ['hookline-ingress', 'write', 'payments.subscriptions'],
    ['hookline-control', 'read', 'payments.payment-status'],
    ['hookline-control', 'write', 'payments.payment-status'],
    ['hookline-operator', 'write', 'payments.subscriptions'],
    ['ledger', 'write', 'payments.commands'],
    ['ledger', 'write', 'payments.payment-status'],
    ['ledger', 'write', 'payments.subscriptions'],
  ])('%s may not %s %s', async (user, operation, topic) => {
    await expect(operation === 'read' ? fetchFirst(user, topic) : write(user, topic)).rejects.toThrow(
      /not authorized|may not read it/i,
    );
  });

  it.each([
    ['ledger', 'payments.dead-letter.redrive'],
    ['ledger', 'hookline-control'],
    ['hookline-operator', 'hookline-control'],
    ['hookline-control', 'hookline-control-2'],
  ])('%s may not join the group %s', async (user, group) => {
    // 'ledger' below may join its own.
    await expect(read(user, 'payments.payment-status', group)).rejects.toThrow(/not authorized/i);
  });

  it('the tool tells who may not write why', async () => {
    const { exitCode, notes } = await cliAs('ledger', 'command', 'subscription.delete', '--ref', 'x');
    expect([exitCode, notes]).toEqual([1, expect.stringMatching(/payments\.commands: .*authori[sz]/i)]);
  });

  it('the tool tells who may not read why', async () => {
    const { exitCode, notes } = await cliAs('ledger', 'tail', 'payments.commands-ledger');
    expect([exitCode, notes]).toEqual([1, expect.stringContaining('this user may not read it): grant')]);
  });

  it('the doctor does not say that a topic is missing which its user merely has no right to', async () => {
    const found = JSON.parse((await cliAs('hookline-ingress', 'doctor', '--json')).out) as Finding[];
    expect(found.find(({ check }) => check === 'topic payments.commands')).toMatchObject({
      finding: 'does not exist, or this user has no right to it',
      remedy: 'hookline topics apply, or grant it',
    });
  });

  it('ledger reads what it books, and commands on a topic of its own', async () => {
    await read('ledger', 'payments.payment-status', 'ledger');
    await write('ledger', 'payments.commands-ledger');
  });

  it('less the right to see how a topic is set: ingress starts with a warning, and a verdict stays', async () => {
    const topic = 'payments.payment-status';
    const admin = new kafkajs.Kafka({ brokers: stack.brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
    await admin.connect();
    const safety = new TopicSafety({
      kafka: kafkaAs('hookline-ingress').client,
      topics: [topic],
      minInsyncReplicas: 1,
      intervalMs: 100,
      observer: { verdict() {}, changed() {}, warning: (text) => void warnings.push(text) },
    });
    const warnings: string[] = [];
    safety.watch();
    await setTopicConfig(fixture.env, topic, { 'unclean.leader.election.enable': 'true' });
    const trouble = await until('it is unsafe', () => safety.trouble());
    await admin.createAcls({ acl: [denied('hookline-ingress', topic)] });
    await until('the right is missing', () => warnings.some((one) => one.includes('is not known')));
    await setTopicConfig(fixture.env, topic, { 'unclean.leader.election.enable': 'false' });
    const ingress = await fixture.ingress(as('hookline-ingress'));
    const { about } = await ingress.process.logged("check the topic's settings");
    expect(about).toMatch(
      /^payments.payment-status: whether it can lose records is not known: .*authorized/i,
    );
    expect(await ingress.process.stop()).toBe(0);
    expect(safety.trouble()).toBe(trouble);
    await admin.deleteAcls({ filters: [denied('hookline-ingress', topic)] });
    await until('it is safe again', () => safety.trouble() === null);
    await Promise.all([safety.stop(), admin.disconnect()]);
  }, 120_000);
});

const clientOf = (user: string) =>
  new kafkajs.Kafka({
    brokers: [secured],
    sasl: { mechanism: 'scram-sha-512', username: user, password: PASSWORD },
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 0 },
  });

/** Resolves with the first record; rejects with what the brokers say. */
/** As Hookline reads: without a group. */
async function fetchFirst(user: string, topic: string): Promise<void> {
  const fetcher = kafkaAs(user).openTopic(topic);
  try {
    const { leaders } = await fetcher.lookUp();
    await fetcher.fetch(leaders[0] ?? 0, new Map([[0, 0n]]));
  } finally {
    fetcher.close();
  }
}

async function read(user: string, topic: string, groupId: string): Promise<void> {
  const consumer = clientOf(user).consumer({ groupId, allowAutoTopicCreation: false, retry: { retries: 0 } });
  const first = Promise.withResolvers<void>();
  consumer.on(consumer.events.CRASH, ({ payload }) => first.reject(payload.error));
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({ autoCommit: false, eachMessage: async () => first.resolve() });
    await first.promise;
  } finally {
    await consumer.disconnect();
  }
}

async function write(user: string, topic: string): Promise<void> {
  const producer = clientOf(user).producer({ allowAutoTopicCreation: false, retry: { retries: 0 } });
  try {
    await producer.connect();
    await producer.send({ topic, acks: -1, messages: [{ key: 'k', value: '{}' }] });
  } finally {
    await producer.disconnect();
  }
}
