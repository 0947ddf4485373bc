import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTopic } from '../support/create-topic.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

let receiver: ReceiverFixture;
let ingress: ReceiverFixture['ingress'];

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
  ingress = await receiver.fixture.ingress({ SPOOL_DIR: join(receiver.fixture.dir, 'spool') });
});
afterAll(() => receiver?.[Symbol.asyncDispose]());

async function post(type: string, n: number): Promise<string> {
  const body = JSON.stringify({ type, entityId: `e-${n % 2}`, n });
  const { status, text } = await postSigned(`${ingress.url}/webhooks/ledger-eu`, receiver, body);
  expect(status).toBe(200);
  return (JSON.parse(text) as { stored: string }).stored;
}

const waiting = async () => {
  const text = await (await fetch(`${await ingress.process.adminUrl()}/metrics`)).text();
  return Number(/^hookline_spool_deliveries (.*)$/m.exec(text)?.[1]);
};
const numbersOf = async (topic: string) =>
  (await receiver.fixture.read(topic, 0)).map(
    ({ key, record }) => `${key} ${JSON.parse(String(record?.source)).n}`,
  );

describe('a topic that was deleted, and a spool', () => {
  it('does not hold up the other topics; its events get there when it exists again', async () => {
    const topic = receiver.fixture.topic('collection-status');
    for (const type of ['collection-status', 'payment-status']) expect(await post(type, 0)).toBe('kafka');
    await asAdmin(receiver.fixture.env, (admin) => admin.deleteTopics({ topics: [topic] }));
    await until('the first waits in the spool', async () => (await post('collection-status', 2)) === 'spool');
    for (let n = 4; n < 20; n += 2) expect(await post('collection-status', n)).toBe('spool');
    for (let n = 2; n < 40; n += 2) await post('payment-status', n);
    await until(
      'the other topic has its events',
      async () => (await numbersOf('payment-status')).includes('e-0 38'),
      40_000,
    );
    expect(await waiting()).toBeGreaterThanOrEqual(9);

    await asAdmin(receiver.fixture.env, (admin) =>
      createTopic(admin, { topic, numPartitions: 3, replicationFactor: 1 }),
    );
    await until('the spool is drained', async () => (await waiting()) === 0, 40_000);
    const seen = await numbersOf('collection-status');
    const first = [...new Set(seen)];
    expect(first.slice(-8)).toEqual([4, 6, 8, 10, 12, 14, 16, 18].map((n) => `e-0 ${n}`));
    await until('Kafka is used again', async () => (await post('payment-status', 40)) === 'kafka', 20_000);
  }, 150_000);
});
