import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ControlFixture } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';
import { TwoClusters } from './two-clusters.ts';

let clusters: TwoClusters;
let the: ControlFixture;
/** A webhook that was stored in the old cluster alone. */
let lost: { id: string; entityId: string };

const entitiesNow = async () => (await the.fixture.read('payment-status', 0)).map(({ key }) => key);
const subscriptionOf = async (ref: string) =>
  (await the.subscriptions()).find(({ url }) => url.endsWith(`/${ref}`));

async function trigger(): Promise<typeof lost> {
  const [delivery] = await the.trigger({ ref: 'kept' });
  expect(delivery).toMatchObject({ status: 200 });
  return delivery as typeof lost;
}

beforeAll(async () => {
  clusters = await TwoClusters.start();
  the = clusters.the;
  await clusters.createTopics();
  await using mirrorMaker = await clusters.copy();
  const spool = { SPOOL_DIR: join(the.fixture.dir, 'spool') };
  await the.ingress.process.stop();
  const { port } = new URL(the.ingress.url);
  const ingress = await the.fixture.ingress({ ...spool, INGRESS_PORT: port });
  const create = (ref: string) => ({ type: 'subscription.create', ref, events: ['payment_status'] });
  for (const ref of ['kept', 'deleted']) await the.run(create(ref));
  await clusters.send('kept', 'ACTC', ['e-copied']);
  await clusters.copied(mirrorMaker);
  mirrorMaker.freeze();
  await the.run(create('created'));
  await the.run({ type: 'subscription.delete', ref: 'deleted' });
  lost = await trigger();
  await clusters.old.kafka?.nodes[0]?.kill('SIGKILL');
  await clusters.send('kept', 'ACSC', ['e-spooled']);
  await Promise.all([the.control.stop(), ingress.process.stop()]);
  await clusters.startAtNext(spool);
});

afterAll(() => clusters?.[Symbol.asyncDispose]());

it('what was copied is there, and what waited in a spool comes', async () => {
  await until('the spool is drained', async () => (await entitiesNow()).includes('e-spooled'));
  expect(await entitiesNow()).toEqual(expect.arrayContaining(['e-copied', 'e-spooled']));
});

it('what was not copied comes by a replay', async () => {
  expect(await entitiesNow()).not.toContain(lost.entityId);
  const replay = await the.run({ type: 'webhook.replay', ref: 'kept', executionIds: [lost.id] });
  expect(replay).toMatchObject({ status: 'SUCCEEDED' });
  await until('it has come', async () => (await entitiesNow()).includes(lost.entityId));
});

it('drift shows which subscriptions differ', async () => {
  const { drift } = (await the.run({ type: 'subscription.list' })) as unknown as { drift: object[] };
  expect(drift).toHaveLength(2);
  expect(drift).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({
        errorCode: 'SUBSCRIPTION_FOREIGN',
        message: expect.stringContaining('/webhooks/created'),
      }),
      expect.objectContaining({ errorCode: 'SUBSCRIPTION_MISSING', ref: 'deleted' }),
    ]),
  );
});

it('a subscription that was created is adopted, and its webhooks are acknowledged', async () => {
  const present = await subscriptionOf('created');
  the.fixture.secrets('created', { 'signing-secret': String(present?.signingSecret) });
  const adopted = await the.run({
    type: 'subscription.adopt',
    ref: 'created',
    subscriptionId: present?.id,
  });
  expect(adopted).toMatchObject({ status: 'SUCCEEDED' });
  await until('ingress knows its keys', () =>
    clusters.send('created', 'ACSC', ['e-adopted']).then(
      () => true,
      () => false,
    ),
  );
});

it('a subscription that was deleted is deleted once more', async () => {
  expect(await the.run({ type: 'subscription.delete', ref: 'deleted' })).toMatchObject({
    status: 'SUCCEEDED',
  });
  const { drift } = (await the.run({ type: 'subscription.list' })) as unknown as { drift: object[] };
  expect(drift).toEqual([]);
});
