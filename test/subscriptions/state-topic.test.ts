import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { readSubscriptionTable } from '../../src/subscriptions/state-topic.ts';
import { answer, ScriptedTopic } from '../support/scripted-topic.ts';
import { until } from '../support/until.ts';

async function open(leaders = [1]) {
  const topic = new ScriptedTopic(leaders);
  topic.atOnce = 10;
  const fenced: string[] = [];
  let recreated = 0;
  const table = await readSubscriptionTable({
    openTopic: topic.open,
    topic: 't',
    clock: systemClock,
    onChange() {},
    onBrokenOff() {},
    onRecreated: () => recreated++,
    onUnreadable: expect.fail,
    onAwaited: expect.fail,
    read: async (value) => ({ events: `${value}` }),
  });
  onTestFinished(() => table.stop());
  table.onFenced((ref) => fenced.push(ref));
  const append = (ref: string, epoch: number, value: string) => {
    topic.append(0, value);
    const record = topic.logs[0]?.pop() ?? expect.fail('nothing appended');
    topic.logs[0]?.push({ ...record, key: Buffer.from(ref), headers: { 'hookline.epoch': `${epoch}` } });
  };
  const caughtUp = () => table.caughtUp(AbortSignal.timeout(5_000));
  return { topic, table, fenced, append, caughtUp, recreated: () => recreated };
}

it('records of a topic that was created anew count, though processes of the one before had claimed more', async () => {
  const { topic, table, fenced, append, caughtUp } = await open();
  append('#epoch', 7, '7');
  append('eu', 7, 'a');
  append('late', 6, 'b');
  await caughtUp();
  expect([table.fence.highest(), table.fence.overwritten(), fenced]).toEqual([
    7,
    ['late'],
    ['#epoch', 'late'],
  ]);
  fenced.splice(0);
  topic.logs[0] = [];
  topic.topicId = 'second';
  append('#epoch', 1, '1');
  append('us', 1, 'c');
  topic.failures.set(1, [answer('UNKNOWN_TOPIC_ID')]);
  expect(await until('the new one is read', () => table.get('us'))).toEqual({ ref: 'us', events: 'c' });
  expect([table.fence.highest(), table.fence.overwritten(), fenced]).toEqual([1, [], ['#epoch', '#epoch']]);
});

it('records that a topic lacks which was created anew stay, and are known to be missing, until they come', async () => {
  const { topic, table, append, caughtUp, recreated } = await open([1, 1]);
  append('eu', 1, 'a');
  append('us', 1, 'b');
  topic.append(1, 'c');
  Object.assign(topic.logs[1]?.[0] ?? {}, { key: Buffer.from('asia') });
  await caughtUp();
  expect([table.fence.missing(), recreated()]).toEqual([[], 0]);
  // It has one partition fewer.
  topic.logs.splice(0, 2, []);
  topic.leaders = [1];
  topic.topicId = 'second';
  append('us', 1, 'd');
  topic.failures.set(1, [answer('UNKNOWN_TOPIC_ID')]);
  await until('it is another one', () => recreated() > 0);
  await caughtUp();
  expect([...table.fence.missing()].toSorted()).toEqual(['asia', 'eu']);
  expect(table.all().map(({ ref, events }) => [ref, events])).toEqual([
    ['eu', 'a'],
    ['us', 'd'],
    ['asia', 'c'],
  ]);
  append('asia', 1, 'e');
  await until('it has come', () => !table.fence.isMissing('asia'));
  expect(table.fence.missing()).toEqual(['eu']);
});

it('a late record changes nothing until one that counts takes its place, and a claim is no subscription', async () => {
  const { table, fenced, append, caughtUp } = await open();
  append('#epoch', 7, '7');
  append('eu', 7, 'a');
  append('eu', 6, 'late');
  await caughtUp();
  expect([table.all(), table.fence.overwritten()]).toEqual([[{ ref: 'eu', events: 'a' }], ['eu']]);
  append('eu', 7, 'b');
  await caughtUp();
  expect([table.all(), table.fence.overwritten()]).toEqual([[{ ref: 'eu', events: 'b' }], []]);
  expect(fenced).toEqual(['#epoch', 'eu']);
});

it('a late claim is told as one, and no other record beside it', async () => {
  const { table, fenced, append, caughtUp } = await open();
  append('#epoch', 7, '7');
  append('#epoch', 5, 'late');
  append('eu', 7, 'a');
  await caughtUp();
  expect([fenced, [...table.fence.lateClaims]]).toEqual([['#epoch', '#epoch'], [0]]);
});
