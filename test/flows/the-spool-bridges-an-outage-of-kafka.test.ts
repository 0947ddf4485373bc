import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { KafkaCluster } from '../stack/kafka-cluster.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { cli } from '../support/cli.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { until } from '../support/until.ts';

/** A Kafka of their own, that these tests may stop: the way is the JVM, whatever the others run on. */
let stack: Stack;
let kafka: KafkaCluster;
let receiver: ReceiverFixture;
let spoolDir: string;
let ingress: ReceiverFixture['ingress'];

beforeAll(async () => {
  const properties = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };
  const env = { ...process.env, HOOKLINE_STACK: 'jvm' };
  stack = await startStack({ env, withRegistry: false, shortLived: true, kafka: { properties } });
  kafka = stack.kafka ?? expect.fail('no cluster');
  receiver = await ReceiverFixture.make({ brokers: stack.brokers, registryUrl: inject('registryUrl') });
  spoolDir = join(receiver.fixture.dir, 'spool');
  ingress = await receiver.fixture.ingress({ SPOOL_DIR: spoolDir });
});

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await stack?.stop();
});

let sent = 0;
const acked: string[] = [];

/** Posts the next of a row of events, and remembers it where it was acknowledged. */
async function postNext(headers: Record<string, string> = {}) {
  const body = `{"type":"payment-status","entityId":"e-${sent % 3}","n":${sent++}}`;
  const answer = await postSigned(`${ingress.url}/webhooks/ledger-eu`, receiver, body, headers);
  if (answer.status === 200) acked.push(body);
  return answer;
}

const storedOf = ({ text }: { text: string }) => (JSON.parse(text) as { stored: string }).stored;

const readiness = async (process = ingress.process) => {
  const response = await fetch(`${await process.adminUrl()}/readyz`);
  const { reasons } = (await response.json()) as { reasons: Record<string, string> };
  return { status: response.status, reasons };
};

const metric = async (name: string) => {
  const text = await (await fetch(`${await ingress.process.adminUrl()}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
};

const drained = () =>
  until('the spool is drained', async () => (await metric('hookline_spool_in_use')) === 0, 40_000);

describe('while Kafka is unavailable, and a spool is configured', () => {
  it.each([
    ['hangs', async () => kafka.nodes[0]?.kill('SIGSTOP'), async () => kafka.nodes[0]?.kill('SIGCONT')],
    ['is killed', async () => kafka.nodes[0]?.kill('SIGKILL'), async () => kafka.nodes[0]?.start()],
  ])('because it %s: 200 from the spool, ready; drained when it is back', async (_, stop, restart) => {
    for (let n = 0; n < 5; n++) expect(storedOf(await postNext())).toBe('kafka');
    await stop();
    for (let n = 0; n < 40; n++) expect(storedOf(await postNext())).toBe('spool');
    expect(await readiness()).toMatchObject({ status: 200 });
    expect(await metric('hookline_spool_deliveries')).toBe(40);
    expect(await metric('hookline_spool_in_use')).toBe(1);
    await restart();
    await kafka.waitReady();
    await drained();
    expect(await metric('hookline_spool_deliveries')).toBe(0);
    expect(storedOf(await postNext())).toBe('kafka');
  });

  it('takes large bodies too, and drains them in their place', async () => {
    const post = async (n: number, bytes: number) => {
      const body = JSON.stringify({ type: 'payment-status', entityId: 'e-large', n, x: 'x'.repeat(bytes) });
      const answer = await postSigned(`${ingress.url}/webhooks/ledger-eu`, receiver, body);
      expect(answer.status).toBe(200);
      acked.push(body);
      return storedOf(answer);
    };
    // The thread for large bodies starts with the first: on a busy machine not within the deadline of the spool.
    await until('Kafka takes large bodies', async () => {
      const stored = await post(0, 3_000_000);
      await drained();
      return stored === 'kafka';
    });
    await kafka.nodes[0]?.kill('SIGSTOP');
    // The first is large, and so the one that finds that Kafka is unavailable.
    for (const [n, bytes] of [5_000_000, 10, 3_000_000, 10].entries())
      expect(await post(n + 1, bytes)).toBe('spool');
    await kafka.nodes[0]?.kill('SIGCONT');
    await drained();
    expect(await post(5, 3_000_000)).toBe('kafka');
    const records = await receiver.fixture.read('payment-status');
    const numbers = records
      .filter(({ key }) => key === 'e-large')
      .map(({ record }) => JSON.parse(String(record?.source)).n);
    expect([...new Set(numbers)]).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('survives kill -9, and the next process drains what is left', async () => {
    await kafka.nodes[0]?.kill('SIGSTOP');
    for (let n = 0; n < 10; n++) expect(storedOf(await postNext())).toBe('spool');
    ingress.process.kill('SIGKILL');
    await ingress.process.end();
    await kafka.nodes[0]?.kill('SIGCONT');
    ingress = await receiver.fixture.ingress({ SPOOL_DIR: spoolDir });
    await drained();
    expect(await metric('hookline_spool_drained_total')).toBe(10);
    expect(storedOf(await postNext())).toBe('kafka');
  });

  it('an ingress that starts while Kafka and the registry are unavailable takes webhooks all the same', async () => {
    expect(await ingress.process.stop()).toBe(0);
    await kafka.nodes[0]?.kill('SIGSTOP');
    ingress = await receiver.fixture.ingress({
      SPOOL_DIR: spoolDir,
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
    });
    expect(await readiness()).toMatchObject({ status: 200 });
    for (let n = 0; n < 10; n++) expect(storedOf(await postNext())).toBe('spool');
    // Nobody can say yet that it doesn't exist: its keys may be in the topic that can't be read.
    const unknown = await postSigned(`${ingress.url}/webhooks/unknown`, receiver, '{}');
    expect(unknown).toMatchObject({
      status: 503,
      retryAfter: '5',
      text: expect.stringContaining('KEY_PENDING'),
    });
    await kafka.nodes[0]?.kill('SIGCONT');
    await drained();
    expect(await metric('hookline_spool_drained_total')).toBe(10);
    expect(storedOf(await postNext())).toBe('kafka');
    await until('the topic is read', async () => {
      return (await postSigned(`${ingress.url}/webhooks/unknown`, receiver, '{}')).status === 401;
    });
  });

  it('a second process for the same folder says so and exits', async () => {
    const second = receiver.fixture.start('src/ingress/main.ts', { SPOOL_DIR: spoolDir });
    expect(await second.end()).toBe(1);
    expect(second.written()).toContain('SPOOL_IN_USE');
    expect(storedOf(await postNext())).toBe('kafka');
  });

  it("a spool whose ingress is gone is drained by the operator's tool, on Ctrl-C what is left stays", async () => {
    const env = { ...receiver.fixture.env, SPOOL_DIR: spoolDir };
    expect(await cli(env, 'spool', 'status')).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('owns the spool'),
    });
    await kafka.nodes[0]?.kill('SIGSTOP');
    for (let n = 0; n < 10; n++) expect(storedOf(await postNext())).toBe('spool');
    ingress.process.kill('SIGKILL');
    await ingress.process.end();
    const status = async () => JSON.parse((await cli(env, 'spool', 'status', '--json')).out);
    expect(await status()).toMatchObject({
      dir: spoolDir,
      deliveries: 10,
      oldestReceivedAt: expect.any(String),
    });
    await kafka.nodes[0]?.kill('SIGCONT');
    await kafka.waitReady();
    const drained = await cli(env, 'spool', 'drain', '--json');
    expect(drained).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(drained.out)).toEqual({ drained: 10, left: 0 });
    expect(await status()).toMatchObject({ deliveries: 0, oldestReceivedAt: null });
    expect(await cli(env, 'spool', 'status', '--dir', receiver.fixture.dir)).toMatchObject({ exitCode: 2 });
  });

  it('a job waits for Kafka and drains it, is killed meanwhile, and the next one drains the rest in order', async () => {
    ingress = await receiver.fixture.ingress({ SPOOL_DIR: spoolDir });
    const env = { ...receiver.fixture.env, SPOOL_DIR: spoolDir };
    const args = ['spool', 'drain', '--unattended'];
    const inUse = await cli(env, ...args);
    expect(inUse).toMatchObject({ exitCode: 1, notes: expect.stringContaining('owns the spool') });
    await kafka.nodes[0]?.kill('SIGKILL');
    for (let n = 0; n < 40; n++) expect(storedOf(await postNext())).toBe('spool');
    ingress.process.kill('SIGKILL');
    await ingress.process.end();
    const job = receiver.fixture.start('src/cli/main.ts', env, args);
    await until('it waits for Kafka', () => job.written().includes('Trying again'), 30_000);
    // It owns the directory while it waits.
    expect(await cli(env, 'spool', 'status')).toMatchObject({ exitCode: 1 });
    await kafka.nodes[0]?.start();
    job.kill('SIGKILL');
    await job.end();
    await kafka.waitReady();
    const rest = await cli(env, ...args);
    expect(rest).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^\d+ deliveries drained, none left$/),
    });
    // What is empty needs no Kafka.
    expect(await cli({ ...env, KAFKA_BROKERS: '127.0.0.1:1' }, ...args)).toMatchObject({
      exitCode: 0,
      out: '0 deliveries drained, none left',
    });
    const none = await cli(env, ...args, '--dir', receiver.fixture.dir);
    expect(none).toMatchObject({ exitCode: 0, notes: expect.stringContaining('contains no spool') });
  }, 120_000);

  it('lost nothing that it acknowledged, and kept the order of each entity', async () => {
    const records = await receiver.fixture.read('payment-status', acked.length);
    const sources = records.map(({ record }) => String(record?.source));
    expect(acked.filter((body) => !sources.includes(body))).toEqual([]);
    for (const entity of ['e-0', 'e-1', 'e-2']) {
      const first = [...new Set(sources.filter((source) => source.includes(entity)))];
      expect(first).toEqual(acked.filter((body) => body.includes(entity)));
    }
  });
});
