import { expect, it, onTestFinished } from 'vitest';
import { OpenTopics } from '../../../src/console/index/open-topics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ScriptedTopic } from '../../support/scripted-topic.ts';

/** Topics by name, each with one record. */
function open() {
  const topics = new Map<string, ScriptedTopic>();
  const openTopic = (name: string) => {
    const topic = new ScriptedTopic([1]);
    topic.append(0, name);
    topics.set(name, topic);
    return topic.open();
  };
  const opened = new OpenTopics({ openTopic, clock: systemClock });
  onTestFinished(() => opened.stop());
  const read = async (name: string) => {
    const records = await opened.read(name, [{ partition: 0, offset: 0 }]);
    return records.map(({ value }) => String(value));
  };
  const names = (count: number) => Array.from({ length: count }, (_, n) => `topic-${n}`);
  const isOpen = (name: string) => topics.get(name)?.isClosed === false;
  return { opened, read, names, isOpen };
}

it('of many topics those that were read last stay open', async () => {
  const { read, names, isOpen } = open();
  for (const name of names(20)) await read(name);
  await read('topic-0');
  expect(await read('another')).toEqual(['another']);
  expect(['topic-0', 'topic-1', 'another'].map(isOpen)).toEqual([true, false, true]);
});

it('a topic that is being read is closed when that has ended', async () => {
  const { opened, read, names, isOpen } = open();
  const reading = Promise.withResolvers<void>();
  const last = opened.use('first', async (reader) => {
    await reading.promise;
    return reader.span();
  });
  for (const name of names(20)) await read(name);
  expect(isOpen('first')).toBe(true);
  reading.resolve();
  expect(await last).toHaveLength(1);
  await expect.poll(() => isOpen('first')).toBe(false);
});
