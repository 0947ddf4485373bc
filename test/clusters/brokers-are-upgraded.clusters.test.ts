import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { FaultCluster } from '../faults/cluster/fault-cluster.ts';
import { NOTHING_WRONG, runShort, SEED } from '../faults/short-form.ts';
import { findJdks, newestOf } from '../stack/find-jdk.ts';
import { fetchParts } from '../stack/kafka-parts.ts';
import { LOCAL_DIR } from '../stack/start-stack.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { updateFeatures } from './update-features.ts';

/** The oldest Kafka that can become Kafka 4 without a stop, unless another is named. */
const FROM = process.env.HOOKLINE_STACK_KAFKA || '3.9.1';

let cluster: FaultCluster;
let jars: string;
beforeAll(async () => {
  const env = { ...process.env, HOOKLINE_STACK_KAFKA: '', HOOKLINE_STACK_REGISTRY: '' };
  const jdk = newestOf(await findJdks(env)) ?? expect.fail('no Java');
  const { signal } = new AbortController();
  jars = (await fetchParts({ dir: LOCAL_DIR, jdk, env, signal, onProgress: console.log })).kafka;
  cluster = await FaultCluster.start({ seed: SEED, kafkaVersion: FROM, registryUrl: inject('registryUrl') });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

it('while brokers are upgraded one by one, nothing acknowledged is lost and each command has one result', async () => {
  const { direct, registryUrl } = cluster;
  // Past the proxies: the tests' own client waits for a broker behind a proxy that closes its connections, and asks no other.
  await using the = await ControlFixture.make({ brokers: [...direct], registryUrl });
  const upgraded = new AbortController();
  const results = commandUntil(the, upgraded.signal);
  // A failure is told where they are awaited.
  results.catch(() => {});
  const { verdict, recoveredAfterMs } = await runShort(
    cluster,
    [0, 1, 2].flatMap((broker) => [
      { do: 'calm', seconds: 3 },
      { do: 'upgrade', broker, jars },
      { do: 'whole' },
    ]),
  );
  expect(await updateFeatures(direct[0] ?? '')).toHaveProperty(['metadata.version']);
  expect(
    await the.run({ type: 'subscription.create', ref: 'after', events: ['payment-status'] }),
  ).toMatchObject({
    status: 'SUCCEEDED',
  });
  upgraded.abort();
  expect(verdict).toMatchObject(NOTHING_WRONG);
  expect(verdict.acked).toBeGreaterThan(500);
  expect(recoveredAfterMs).not.toBeNull();

  const statuses = await results;
  expect(statuses.length).toBeGreaterThan(5);
  expect(new Set(statuses)).toEqual(new Set(['SUCCEEDED']));
  expect(await the.subscriptions()).toHaveLength(statuses.length + 1);
});

/** One command after the other. Gives the status of each. */
async function commandUntil(the: ControlFixture, signal: AbortSignal): Promise<string[]> {
  const statuses: string[] = [];
  for (let n = 0; !signal.aborted; n++) {
    const { status } = await the.run({
      type: 'subscription.create',
      ref: `during-${n}`,
      events: ['payment-status'],
    });
    statuses.push(status);
  }
  return statuses;
}
