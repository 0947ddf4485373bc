import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { followTopic } from '../../src/kafka/consume/topic-follower.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { KafkaCluster } from '../stack/kafka-cluster.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { cli } from '../support/cli.ts';
import { openTopicAt } from '../support/open-topic.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { testKafka } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

/** A Kafka of their own, that these tests may stop: the way is the JVM, whatever the others run on. */
let stack: Stack;
let kafka: KafkaCluster;
let receiver: ReceiverFixture;
let url: string;

beforeAll(async () => {
  // A broker that was killed is taken back by the cluster after this, not after nine seconds.
  const properties = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };
  const env = { ...process.env, HOOKLINE_STACK: 'jvm' };
  stack = await startStack({ env, withRegistry: false, shortLived: true, kafka: { properties } });
  kafka = stack.kafka ?? expect.fail('no cluster');
  receiver = await ReceiverFixture.make(
    { brokers: stack.brokers, registryUrl: inject('registryUrl') },
    { PUBLISH_DEADLINE_MS: '1500' },
  );
  url = `${receiver.ingress.url}/webhooks/ledger-eu`;
});

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await stack?.stop();
});

let sent = 0;
const acked: string[] = [];

/** Posts the next of a row of events, and remembers it where it was acknowledged. */
async function postNext() {
  const body = `{"type":"payment-status","entityId":"e-${sent % 3}","n":${sent++}}`;
  const answer = await postSigned(url, receiver, body);
  if (answer.status === 200) acked.push(body);
  return answer;
}

const readiness = async (admin: string) => {
  const response = await fetch(`${admin}/readyz`);
  return {
    status: response.status,
    reasons: ((await response.json()) as { reasons: Record<string, string> }).reasons,
  };
};

describe('while Kafka is unavailable, and nothing else to store in', () => {
  it.each([
    ['hangs', async () => kafka.nodes[0]?.kill('SIGSTOP'), async () => kafka.nodes[0]?.kill('SIGCONT')],
    ['is killed', async () => kafka.nodes[0]?.kill('SIGKILL'), async () => kafka.nodes[0]?.start()],
  ])(
    'because it %s: 503 with Retry-After, not ready, alive; then it goes on by itself',
    async (_, stop, restart) => {
      const admin = await receiver.ingress.process.adminUrl();
      for (let n = 0; n < 10; n++) expect((await postNext()).status).toBe(200);
      await stop();
      const answers = await Promise.all(Array.from({ length: 20 }, postNext));
      for (const answer of answers) {
        expect(answer).toMatchObject({
          status: 503,
          retryAfter: '5',
          text: expect.stringContaining('PUBLISH_DEADLINE'),
        });
      }
      expect(await readiness(admin)).toMatchObject({
        status: 503,
        // Of each topic it looks at the leaders from time to time: with a broker that is gone, another one may be first.
        reasons: { kafka: expect.stringMatching(/payment-status|dead-letter|the brokers cannot be reached/) },
      });
      expect((await fetch(`${admin}/livez`)).status).toBe(200);
      await restart();
      await kafka.waitReady();
      await until('webhooks are stored again', async () => (await postNext()).status === 200, 40_000);
      for (let n = 0; n < 10; n++) expect((await postNext()).status).toBe(200);
      await until('it is ready again', async () => (await readiness(admin)).status === 200);
    },
  );

  it('lost nothing that it acknowledged, and kept the order of each entity', async () => {
    const records = await receiver.fixture.read('payment-status', acked.length);
    const sources = records.map(({ record }) => String(record?.source));
    expect(acked.filter((body) => !sources.includes(body))).toEqual([]);
    for (const entity of ['e-0', 'e-1', 'e-2']) {
      const first = [
        ...new Set(sources.filter((source) => source.includes(entity) && acked.includes(source))),
      ];
      expect(first).toEqual(acked.filter((body) => body.includes(entity)));
    }
  });

  it('an ingress that starts waits, says for what, and begins when it is there', async () => {
    await kafka.nodes[0]?.kill('SIGKILL');
    const late = receiver.fixture.start('src/ingress/main.ts');
    const admin = await late.adminUrl();
    await until('it says what it waits for', async () => {
      const { status, reasons } = await readiness(admin);
      return status === 503 && reasons.start?.startsWith('waiting for topics');
    });
    await kafka.nodes[0]?.start();
    await late.logged('listening', 40_000);
    expect((await readiness(admin)).status).toBe(200);
    await late.stop();
  });
});

describe('a follower of a topic', () => {
  it('goes on after the brokers were unavailable: each record once, in order, none missing', async () => {
    const { env, topic } = receiver.fixture;
    const client = testKafka(env);
    const producer = client.producer();
    const seen: string[] = [];
    const follower = await followTopic({
      clock: systemClock,
      openTopic: openTopicAt(stack.brokers),
      topic: topic('command-results'),
      onRecord: ({ value }) => void seen.push(String(value)),
    });
    const send = async (from: number) => {
      const messages = Array.from({ length: 5 }, (_, n) => ({ key: 'k', value: String(from + n) }));
      await producer.connect();
      await producer.send({ topic: topic('command-results'), acks: -1, messages });
    };
    await send(0);
    await until('all are seen', () => seen.length === 5);
    await kafka.nodes[0]?.kill('SIGKILL');
    await kafka.nodes[0]?.start();
    await kafka.waitReady();
    await send(5);
    await follower.caughtUp(AbortSignal.timeout(30_000));
    expect(seen).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    await Promise.all([follower.stop(), producer.disconnect()]);
  });
});

describe('an ingress whose registry or topics are missing', () => {
  it('names what is missing and the command that makes it, and goes on when it is there', async () => {
    const { fixture } = receiver;
    const fresh = { TOPIC_PREFIX: `${fixture.prefix}-fresh` };
    const late = fixture.start('src/ingress/main.ts', fresh);
    const admin = await late.adminUrl();
    const reason = async () => (await readiness(admin)).reasons.start ?? '';
    await until('it names the schemas', async () => (await reason()).includes('hookline schemas push'));
    expect(await reason()).toContain('events/payment-status.avsc');
    await cli({ ...fixture.env, ...fresh }, 'schemas', 'push');
    await until('it names the topics', async () => (await reason()).includes('hookline topics apply'));
    expect(await reason()).toContain(`${fresh.TOPIC_PREFIX}.payment-status`);
    await cli({ ...fixture.env, ...fresh }, 'topics', 'apply');
    await late.logged('listening', 40_000);
    await late.stop();
  });

  it('stops at once when it is told to while it waits', async () => {
    const late = receiver.fixture.start('src/ingress/main.ts', { SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' });
    await until('it waits', () => late.written().includes('waiting for the schema registry'));
    expect(await late.stop()).toBe(0);
  });
});
