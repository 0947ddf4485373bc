import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cliJson } from '../support/cli.ts';
import { compactTopic } from '../support/compact-topic.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import type { SeenRecord } from '../support/topic-reader.ts';
import { PARTITIONS } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';
import { writeRecords } from '../support/write-records.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
});

afterAll(() => the[Symbol.asyncDispose]());

const of = (records: readonly SeenRecord[], ref: string) => records.filter(({ key }) => key === ref);

/** Writes a record as it was, behind everything: as a process does that was frozen between its last look and its send. */
const landLate = ({ partition, key, value, headers }: SeenRecord): Promise<void> =>
  writeRecords(the.fixture.env, the.fixture.topic('subscriptions'), [{ partition, key, value, headers }]);

it('what an earlier control process writes late does not count, and is gone when the topic was compacted', async () => {
  const events = ['payment_status'];
  await the.run({ type: 'subscription.create', ref: 'kept', events });
  await the.run({ type: 'subscription.create', ref: 'gone', events });
  const before = await the.fixture.read('subscriptions');
  const claims = before.filter(({ key }) => key === '#epoch');
  expect(claims.map(({ value }) => String(value))).toEqual(claims.map(() => '1'));
  expect(new Set(claims.map(({ partition }) => partition)).size).toBe(PARTITIONS);
  expect(of(before, 'kept').map(({ headers }) => headers['hookline.epoch'])).toEqual(['1', '1']);

  await the.control.stop();
  the.control = await the.fixture.control(the.urls);
  await the.run({ type: 'subscription.update', ref: 'kept', events: [...events, 'accounts-entries'] });
  await the.run({ type: 'subscription.delete', ref: 'gone' });
  const [intent, active] = of(before, 'kept');
  for (const late of [intent, active, of(before, 'gone').at(-1)]) await landLate(late ?? expect.fail('none'));
  await until('what was hidden is written again', async () => {
    const records = await the.fixture.read('subscriptions');
    return ['kept', 'gone'].every((ref) => of(records, ref).at(-1)?.headers['hookline.epoch'] === '2');
  });

  const left = await compactTopic(the.fixture.env, the.fixture.topic('subscriptions'));
  expect(of(left, 'kept')).toMatchObject([
    { record: { state: 'ACTIVE', events: ['payment-status', 'accounts-entries'] } },
  ]);
  expect(of(left, 'gone')).toMatchObject([{ record: { state: 'RETIRED' } }]);
  // What the operators read, and who takes over next, say the same.
  const inspected = await cliJson<{ topic: string; what: string }[]>(the.fixture.env, 'inspect', 'kept');
  expect(inspected.filter(({ topic }) => topic.endsWith('.subscriptions'))).toMatchObject([
    { what: expect.stringMatching(/^ACTIVE/) },
  ]);
  await the.control.stop();
  the.control = await the.fixture.control(the.urls);
  expect(await the.run({ type: 'subscription.list' })).toMatchObject({ status: 'SUCCEEDED', drift: [] });
  expect(await the.trigger({ ref: 'kept', sealed: true })).toMatchObject([{ status: 200 }]);
}, 180_000);
