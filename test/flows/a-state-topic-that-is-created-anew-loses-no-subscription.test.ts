import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { createTopic } from '../support/create-topic.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { PARTITIONS } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
});

const TOLD = 'the topic of subscriptions was deleted and created anew';

afterAll(() => the[Symbol.asyncDispose]());

async function recreateState(): Promise<void> {
  const topic = the.fixture.topic('subscriptions');
  await asAdmin(the.fixture.env, async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    const configEntries = [{ name: 'cleanup.policy', value: 'compact' }];
    await until('it is created', () =>
      createTopic(admin, { topic, numPartitions: PARTITIONS, replicationFactor: 1, configEntries }).then(
        () => true,
        () => false,
      ),
    );
  });
}

it('a state topic that was deleted and created anew gets every subscription again, and ingress keeps its keys', async () => {
  for (const ref of ['one', 'two', 'gone'])
    await the.run({ type: 'subscription.create', ref, events: ['payment_status'] });
  await the.run({ type: 'subscription.delete', ref: 'gone' });
  const before = await the.subscriptions();
  await recreateState();
  expect(await the.trigger({ ref: 'one', sealed: true })).toMatchObject([{ status: 200 }]);
  const states = () => Promise.all(['one', 'two', 'gone'].map(async (ref) => (await the.state(ref))?.state));
  await until('it is written again', async () => `${await states()}` === 'ACTIVE,ACTIVE,RETIRED', 60_000);
  for (const { lines } of [the.control, the.ingress.process])
    expect(lines.filter(({ msg }) => msg?.startsWith(TOLD))).toMatchObject([{ level: 'error' }]);
  // Who starts now knows all of them.
  await the.control.stop();
  the.control = await the.fixture.control(the.urls);
  expect(await the.run({ type: 'subscription.list' })).toMatchObject({ status: 'SUCCEEDED', drift: [] });
  expect(await the.run({ type: 'subscription.update', ref: 'two' })).toMatchObject({ status: 'SUCCEEDED' });
  expect(await the.subscriptions()).toEqual(before);
}, 180_000);
