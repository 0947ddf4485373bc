import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/cli/shell/connections.ts';
import { nodeSource } from '../../src/config/env.ts';
import { observeTopicSafety, TopicSafety } from '../../src/kafka/admin/watch-safety.ts';
import { openKafka } from '../../src/kafka/open-kafka.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { capturedLog } from '../support/captured-log.ts';
import { cli } from '../support/cli.ts';
import { createTopic } from '../support/create-topic.ts';
import { findings, readiness } from '../support/secure/secure-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { setTopicConfig, topicConfig, untilTopicHas } from '../support/topic-config.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';
import { writeRecords } from '../support/write-records.ts';

const DAY = 86_400_000;
const REQUEST_BYTES = 60 * 1024 * 1024;
const UNSAFE = { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' };

let stack: Stack;
let fixture: Fixture;

beforeAll(async () => {
  stack = await startStack({
    env: { ...process.env, KAFKA_BROKERS: undefined, SCHEMA_REGISTRY_URL: undefined },
    way: 'jvm',
    nodes: 3,
    withRegistry: false,
    shortLived: true,
    kafka: {
      heapMb: 512,
      properties: {
        'socket.request.max.bytes': REQUEST_BYTES,
      },
    },
  });
  fixture = await Fixture.make(
    { brokers: stack.brokers, registryUrl: inject('registryUrl') },
    { partitions: 6 },
  );
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await stack?.stop();
});

const apply = (...options: string[]) => applyEnding(0, options);

const applyEnding = async (code: number, options: readonly string[]) => {
  const { exitCode, out, notes } = await cli(fixture.env, 'topics', 'apply', '--json', ...options);
  expect([exitCode, notes]).toEqual([code, '']);
  return new Map<string, string>(
    JSON.parse(out).map(({ topic, remarks }: { topic: string; remarks: string }) => [topic, remarks]),
  );
};

describe('hookline topics apply on three brokers', () => {
  it('sets in-sync replicas, no unclean election, times of the brokers, retention, and records as large as the brokers take', async () => {
    const safe = {
      'min.insync.replicas': '2',
      'unclean.leader.election.enable': 'false',
      'message.timestamp.type': 'LogAppendTime',
    };
    const bytes = String(REQUEST_BYTES - 65_536);
    for (const [name, config] of Object.entries({
      'payment-status': { ...safe, 'max.message.bytes': bytes, 'retention.ms': String(7 * DAY) },
      'dead-letter': { ...safe, 'max.message.bytes': bytes, 'retention.ms': String(30 * DAY) },
      commands: { ...safe, 'retention.ms': String(7 * DAY) },
      'command-results': { ...safe, 'retention.ms': String(30 * DAY) },
      subscriptions: { ...safe, 'cleanup.policy': 'compact', 'min.compaction.lag.ms': String(DAY) },
    }))
      expect(await topicConfig(fixture.env, fixture.topic(name))).toMatchObject(config);
    // Each broker hears of a new topic at its own time, and any of the three may answer.
    await until(
      'each broker knows the topics',
      async () => (await cli(fixture.env, 'topics', 'plan')).exitCode === 0,
    );
    expect(
      (await findings(fixture.env)).filter(({ check, state }) => check.startsWith('topic') && state !== 'ok'),
    ).toEqual([]);
  });

  it('never shortens a retention by itself, and does it when it is told to', async () => {
    const topic = fixture.topic('dead-letter');
    await writeRecords(fixture.env, topic, [{ key: 'somebody', value: '{}' }]);
    await setTopicConfig(fixture.env, topic, { 'retention.ms': '-1', 'cleanup.policy': 'compact' });
    const remarks = (await applyEnding(1, [])).get(topic);
    expect(remarks).toContain('retention.ms stays unlimited');
    expect(remarks).toContain('cleanup.policy stays compact');
    const kept = {
      'retention.ms': '-1',
      'cleanup.policy': 'compact',
      'unclean.leader.election.enable': 'false',
    };
    expect(await topicConfig(fixture.env, topic)).toMatchObject(kept);
    await apply('--allow-data-loss');
    const changed = { 'retention.ms': String(30 * DAY), 'cleanup.policy': 'delete' };
    await untilTopicHas(fixture.env, topic, changed);
    expect((await apply()).get(topic)).not.toContain('stays');
  });
});

describe('a topic that can lose records', () => {
  it('keeps ingress and control from starting until it is repaired; they say why and go on by themselves', async () => {
    const topic = fixture.topic('dead-letter');
    await setTopicConfig(fixture.env, topic, UNSAFE);
    const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
    fixture.secrets('ledger', {
      'subscription-id': keys.subscriptionId,
      'signing-secret': keys.signingSecret,
    });
    const urls = { provider: 'http://127.0.0.1:9', publicUrl: 'http://127.0.0.1:9' };
    const ingress = fixture.start('src/ingress/main.ts');
    const control = fixture.start('src/control/main.ts', fixture.controlEnv(urls));
    for (const one of [ingress, control]) {
      const admin = await one.adminUrl();
      await until(
        'it says why',
        async () => (await readiness(admin)).reasons.includes('TOPICS_UNSAFE'),
        30_000,
      );
      const { status, reasons } = await readiness(admin);
      expect(status).toBe(503);
      expect(reasons).toContain(`${topic}: min.insync.replicas is 1, must be at least 2`);
      expect(reasons).toContain('unclean.leader.election.enable is true, must be false');
      expect(reasons).toContain('run hookline topics apply');
      expect(await one.metrics()).toContain(`hookline_topic_unsafe{topic="${topic}"} 1`);
      expect(one.exitCode).toBeNull();
    }
    const found = (await findings(fixture.env)).find(({ check }) => check === `topic ${topic}`);
    expect(found).toMatchObject({
      state: 'FAULT',
      finding: expect.stringContaining('TOPICS_UNSAFE: min.insync.replicas is 1'),
      remedy: 'run hookline topics apply',
    });
    await apply();
    const { url } = await ingress.logged('listening');
    await control.logged('reading commands');
    expect(
      (await postSigned(`${url}/webhooks/ledger`, keys, '{"type":"payment-status","entityId":"e"}')).status,
    ).toBe(200);
    expect(await ingress.metrics()).toContain(`hookline_topic_unsafe{topic="${topic}"} 0`);
    expect(await Promise.all([ingress.stop(), control.stop()])).toEqual([0, 0]);
  });

  it('because its replication factor is too low is a finding of the doctor, which apply cannot change', async () => {
    await using two = new Fixture({ brokers: stack.brokers, registryUrl: inject('registryUrl') });
    await cli(two.env, 'topics', 'apply', '--replication-factor', '1');
    const named = ({ check }: { check: string }) => check === `topic ${two.topic('payment-status')}`;
    expect((await findings(two.env)).find(named)).toMatchObject({
      state: 'FAULT',
      finding: 'TOPICS_UNSAFE: its replication factor is 1, must be at least 2',
      remedy: expect.stringContaining('kafka-reassign-partitions'),
    });
    const single = await findings({ ...two.env, MIN_INSYNC_REPLICAS: '1' });
    expect(single.find(named)).toMatchObject({ state: 'warning' });
  });
});

describe('while a process runs', () => {
  /** What control does beside its work, oftener. */
  const watch = (topics: readonly string[], compacted: readonly string[] = []) => {
    const { kafka } = loadConfig({ source: nodeSource(fixture.env) }, 'kafka');
    const files = { renewed() {}, unusable() {} };
    const client = { clock: systemClock, clientId: 'test', log: () => {} };
    const log = capturedLog();
    const metrics = createMetrics();
    const safety = new TopicSafety({
      kafka: openKafka({ settings: kafka, files, ...client }).client,
      topics,
      compacted,
      minInsyncReplicas: 2,
      intervalMs: 100,
      observer: observeTopicSafety({ logger: log.logger, metrics }),
    });
    safety.watch();
    return { safety, log, metrics };
  };

  it('a topic that is made unsafe is told of, and again when it is repaired', async () => {
    const topic = fixture.topic('unclassified');
    const { safety, log, metrics } = watch([topic, fixture.topic('dead-letter')]);
    await setTopicConfig(fixture.env, topic, UNSAFE);
    const trouble = await until('it is unsafe', () => safety.trouble());
    expect(trouble).toContain(
      `TOPICS_UNSAFE: topics can lose what was acknowledged (${topic}: min.insync.replicas is 1`,
    );
    expect(await metrics.registry.metrics()).toContain(`hookline_topic_unsafe{topic="${topic}"} 1`);
    await apply();
    await until('it is safe again', () => safety.trouble() === null);
    await safety.stop();
    expect(log.lines().map(({ msg }) => msg)).toEqual([
      'topic can lose acknowledged records',
      'topic is safe again',
    ]);
  });

  it('a state topic that begins to delete records by their age is told of, and apply ends that', async () => {
    const topic = fixture.topic('subscriptions');
    const { safety } = watch([topic], [topic]);
    const set = (config: Readonly<Record<string, string>>) =>
      setTopicConfig(fixture.env, topic, { ...config, 'min.insync.replicas': '2' });
    const both = { 'cleanup.policy': 'compact,delete' };
    await set(both);
    const why = 'cleanup.policy has delete too, must be compact';
    expect(await until('it is unsafe', () => safety.trouble())).toContain(`${topic}: ${why}`);
    expect((await findings(fixture.env)).find(({ check }) => check === `topic ${topic}`)).toMatchObject({
      state: 'FAULT',
      finding: expect.stringContaining(`TOPICS_UNSAFE: ${why}`),
    });
    await set({ ...both, 'retention.ms': '-1', 'retention.bytes': '-1' });
    await until('nothing is deleted for its age', () => safety.trouble() === null);
    await set({ ...both, 'retention.ms': String(DAY) });
    await until('it is unsafe again', () => safety.trouble());
    await apply();
    await until('it is safe', () => safety.trouble() === null);
    await safety.stop();
    expect(await topicConfig(fixture.env, topic)).toMatchObject({ 'cleanup.policy': 'compact' });
  }, 60_000);
});

// The last ones: a broker of the three is killed.
describe('while the only broker that has a topic is down', () => {
  const topic = `somebody-else-${randomUUID()}`;
  const prefix = `own-${randomUUID()}`;
  const own = `${prefix}.probe`;
  beforeAll(async () => {
    const [last] = stack.kafka?.nodes.slice(-1) ?? [];
    const onLast = { replicaAssignment: [{ partition: 0, replicas: [3] }] };
    await asAdmin(fixture.env, async (admin) => {
      for (const name of [topic, own]) await createTopic(admin, { topic: name, ...onLast });
    });
    await last?.kill('SIGKILL');
    const leader = () => asAdmin(fixture.env, (admin) => admin.fetchTopicMetadata({ topics: [own] }));
    await until('it has none', () => leader().then(() => false, isLeaderless), 60_000);
  }, 90_000);

  it('a topic of somebody else keeps nothing of Hookline from starting', async () => {
    const { process } = await fixture.ingress();
    expect((await cli(fixture.env, 'dlq', 'list')).exitCode).toBe(0);
    const { exitCode, notes } = await cli(fixture.env, 'tail', topic);
    expect([exitCode, notes]).toEqual([
      1,
      expect.stringContaining(`${topic}: one of its partitions has no leader`),
    ]);
    expect(await process.stop()).toBe(0);
  }, 120_000);

  it('doctor and topics plan name an own topic, and the broker to start', async () => {
    const env = { ...fixture.env, TOPIC_PREFIX: prefix };
    const found = await findings(env);
    expect(found.find(({ check }) => check === `topic ${own}`)).toMatchObject({
      state: 'FAULT',
      finding: 'no leader for partition 0: nothing can be written there or read',
      remedy: 'start what has its records: broker 3',
    });
    expect(found.find(({ check }) => check === 'brokers')).toMatchObject({ state: 'ok' });
    const { out } = await cli(env, 'topics', 'plan', '--topic', own, '--json');
    expect(JSON.parse(out)[0].remarks).toContain('no leader for partition 0');
  }, 120_000);
});

const isLeaderless = ({ message }: Error) => message.startsWith('There is no leader');
