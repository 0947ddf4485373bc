import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { KafkaCluster } from '../stack/kafka-cluster.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { sealBody } from '../support/seal.ts';
import { postSigned } from '../support/sign.ts';
import { until } from '../support/until.ts';

const TTL_MS = 3_000;
const EVENTS = 5;

let stack: Stack;
let kafka: KafkaCluster;
let the: ControlFixture;

beforeAll(async () => {
  const properties = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };
  const env = { ...process.env, HOOKLINE_STACK: 'jvm' };
  stack = await startStack({ env, withRegistry: false, shortLived: true, kafka: { properties } });
  kafka = stack.kafka ?? expect.fail('no cluster');
  const brokers = { brokers: stack.brokers, registryUrl: inject('registryUrl') };
  // No comparison forgets the deleted one meanwhile.
  const times = { RETIRED_KEYS_TTL_MS: String(TTL_MS), RECONCILE_INTERVAL_MS: '600000' };
  the = await ControlFixture.make(brokers, times);
}, 120_000);

afterAll(async () => {
  await the?.[Symbol.asyncDispose]();
  await stack?.stop();
});

/** Sealed webhooks of a new subscription, answered 200 from the spool of an ingress that is killed then. */
async function spooled(ref: string) {
  await the.run({ type: 'subscription.create', ref, events: ['payment_status'] });
  const {
    id,
    signingSecret,
    encryptionKey = '',
  } = (await the.subscriptions()).find(({ url }) => url.endsWith(`/${ref}`)) ?? expect.fail(`no ${ref}`);
  const env = {
    SPOOL_DIR: join(the.fixture.dir, `spool-${ref}`),
    SECRETS_DIR: undefined,
    RETIRED_KEYS_TTL_MS: String(TTL_MS),
  };
  const { url, process } = await the.fixture.ingress(env);
  const post = async (n: number) => {
    const body = sealBody(String(encryptionKey), `{"type":"payment-status","entityId":"e-${ref}","n":${n}}`);
    const keys = { subscriptionId: id, signingSecret };
    const sealed = { 'content-type': 'application/octet-stream' };
    const { text } = await postSigned(`${url}/webhooks/${ref}`, keys, body, sealed);
    return text;
  };
  expect(await post(0)).toContain('"stored":"kafka"');
  await kafka.nodes[0]?.kill('SIGSTOP');
  for (let n = 1; n <= EVENTS; n++) expect(await post(n)).toContain('"stored":"spool"');
  process.kill('SIGKILL');
  await process.end();
  return { env, dir: env.SPOOL_DIR };
}

/** The numbers of its events in the order in which they came first. */
async function storedAfter(ref: string): Promise<unknown[]> {
  const numbers = async () => {
    const records = await the.fixture.read('payment-status', 1);
    const own = records.filter(({ key }) => key === `e-${ref}`);
    return [...new Set(own.map(({ record }) => JSON.parse(String(record?.source)).n))];
  };
  await until('all are stored', async () => (await numbers()).length === EVENTS + 1, 60_000).catch(
    async (error) => {
      const dead = await the.fixture.read('dead-letter', 0);
      throw new Error(
        `${error.message}: ${await numbers()}; dead-letter records: ${dead.map(({ headers }) => JSON.stringify(headers))}`,
      );
    },
  );
  return numbers();
}

const IN_ORDER = Array.from({ length: EVENTS + 1 }, (_, n) => n);

it('when they have been read, though it was there before them', async () => {
  const { env, dir } = await spooled('eu');
  rmSync(join(dir, 'subscriptions.json'));
  const { process } = await the.fixture.ingress(env);
  await kafka.nodes[0]?.kill('SIGCONT');
  expect(await storedAfter('eu')).toEqual(IN_ORDER);
  await process.stop();
}, 120_000);

it('also when its subscription was deleted long before', async () => {
  const { env } = await spooled('us');
  await kafka.nodes[0]?.kill('SIGCONT');
  const deleted = await the.run({ type: 'subscription.delete', ref: 'us' });
  expect(deleted.status).toBe('SUCCEEDED');
  await new Promise((resolve) => setTimeout(resolve, TTL_MS + 1_000));
  const { process } = await the.fixture.ingress(env);
  expect(await storedAfter('us')).toEqual(IN_ORDER);
  await process.stop();
}, 120_000);
