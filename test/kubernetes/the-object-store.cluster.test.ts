import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { type RunningStore, startS3Mock } from '../support/object-store/s3-bucket.ts';
import { postSigned } from '../support/sign.ts';
import { readTopic } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';
import { forward } from './support/forward.ts';
import { apply } from './support/kubectl.ts';
import { secret } from './support/objects.ts';
import { Release } from './support/release.ts';

const REF = 'ledger-eu';
/** As many clusters take no more. */
const TOPIC_BYTES = 1_048_588;

let release: Release;
let store: RunningStore;
let way: Awaited<ReturnType<typeof forward>>;

beforeAll(async () => {
  const hostAddress = inject('hostAddress');
  release = await Release.make({
    helm: inject('helm'),
    image: inject('image'),
    sandboxImage: inject('sandboxImage'),
    nodeAddress: inject('nodeAddress'),
    hostAddress,
  });
  store = await startS3Mock();
  way = await forward(hostAddress, Number(new URL(store.endpoint).port));
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = store.env;
  const credentials = `[default]\naws_access_key_id = ${AWS_ACCESS_KEY_ID}\naws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}\n`;
  await apply(secret(release.namespace, 'body-store', { credentials }));
});

afterAll(async () => {
  await release?.[Symbol.asyncDispose]();
  await way?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

async function post(body: string): Promise<number> {
  const { subscriptionId, signingSecret } = release.subscription(REF);
  const url = `${await release.url()}/webhooks/${REF}`;
  const keys = { subscriptionId, signingSecret };
  return (await postSigned(url, keys, body, { connection: 'close' })).status;
}
const messageOf = (bytes: number) =>
  JSON.stringify({ type: 'payment-status', entityId: randomUUID(), padding: 'x'.repeat(bytes) });

describe('on a cluster, with an object store', () => {
  it('stores messages of 5 MB there: topics take 1 MiB, and credentials come from a Secret', async () => {
    await release.install({
      bodyStore: {
        address: `s3://${store.bucket}/hookline`,
        endpoint: `http://${inject('hostAddress')}:${way.port}`,
        credentialsSecret: 'body-store',
        deadlineMs: 3_000,
      },
      setup: { topics: { maxRecordBytes: TOPIC_BYTES } },
      networkPolicy: { egress: { enabled: true } },
    });
    const message = messageOf(5_000_000);
    expect(await post(message)).toBe(200);
    const env = {
      KAFKA_BROKERS: release.stack.brokers.join(','),
      SCHEMA_REGISTRY_URL: release.stack.registryUrl,
    };
    expect((await cli({ ...env, MAX_RECORD_BYTES: String(TOPIC_BYTES) }, 'topics', 'plan')).exitCode).toBe(0);
    const [event] = await readTopic(env, 'payments.payment-status', 1);
    const { uri, sha256 } = (event?.record?.sourceRef ?? {}) as { uri: string; sha256: string };
    expect(sha256).toBe(createHash('sha256').update(message).digest('hex'));
    const object = await fetch(`${store.endpoint}/${uri.slice('s3://'.length)}`);
    expect((await object.text()) === message).toBe(true);
  });

  it('the tool in a pod of control, and helm test with the doctor, use it too', async () => {
    expect(JSON.parse(await release.hookline('bodies', 'check', '--verify', '--json'))).toEqual([]);
    expect(await release.helm('test', release.name)).toMatch(/Phase:\s+Succeeded/);
  });

  it('events that need it are answered 503 while it is stopped, and all others 200', async () => {
    await store.kill();
    expect(await Promise.all([post(messageOf(2_000_000)), post(messageOf(10))])).toEqual([503, 200]);
    await store.start();
    await until('it is used again', async () => (await post(messageOf(2_000_000))) === 200, 60_000);
  });
});
