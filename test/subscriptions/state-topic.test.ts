import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { readSubscriptionTable } from '../../src/subscriptions/state-topic.ts';
import { answer, ScriptedTopic } from '../support/scripted-topic.ts';
import { until } from '../support/until.ts';

async function open() {
  const topic = new ScriptedTopic([1]);
  topic.atOnce = 10;
  const fenced: string[] = [];
  const table = await readSubscriptionTable({
    ...{ openTopic: topic.open, topic: 't', clock: systemClock, onChange() {}, onBrokenOff() {} },
    ...{ onUnreadable: expect.fail, onAwaited: expect.fail, read: async (value) => ({ events: `${value}` }) },
  });
  onTestFinished(() => table.stop());
  table.onFenced((ref) => fenced.push(ref));
  const append = (ref: string, epoch: number, value: string) => {
    topic.append(0, value);
    const record = topic.logs[0]?.pop() ?? expect.fail('nothing appended');
    topic.logs[0]?.push({ ...record, key: Buffer.from(ref), headers: { 'hookline.epoch': `${epoch}` } });
  };
  const caughtUp = () => table.caughtUp(AbortSignal.timeout(5_000));
  return { topic, table, fenced, append, caughtUp };
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
