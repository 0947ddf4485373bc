import { expect, it } from 'vitest';
import type { TopicKind } from '../../../src/cli/inspect/describe-record.ts';
import { TopicList } from '../../../src/console/events/topic-list.ts';
import { manualClock } from '../../support/manual-clock.ts';

function setUp() {
  const clock = manualClock();
  const asked: PromiseWithResolvers<Map<string, TopicKind>>[] = [];
  const ask = () => {
    const answer = Promise.withResolvers<Map<string, TopicKind>>();
    asked.push(answer);
    return answer.promise;
  };
  const answer = (...names: string[]) => asked.at(-1)?.resolve(new Map(names.map((name) => [name, 'event'])));
  return { clock, asked, answer, list: new TopicList({ clock, ask }) };
}

it('asks the brokers once in 10 seconds', async () => {
  const { clock, asked, answer, list } = setUp();
  const first = list.all();
  answer('payments.a');
  expect([...(await first).keys()]).toEqual(['payments.a']);
  await clock.advance(9_999);
  await list.all();
  expect(asked).toHaveLength(1);
  await clock.advance(2);
  const second = list.all();
  answer('payments.b');
  expect([...(await second).keys()]).toEqual(['payments.b']);
});

it('does not wait for the brokers where it knows the topic, and notices when it is gone', async () => {
  const { clock, asked, answer, list } = setUp();
  const first = list.find(['a', 'payments.a']);
  answer('payments.a');
  expect(await first).toBe('payments.a');
  await clock.advance(20_000);
  // The brokers have not answered yet.
  expect(await list.find(['a', 'payments.a'])).toBe('payments.a');
  expect(asked).toHaveLength(2);
  answer('payments.b');
  await clock.advance(0);
  expect(await list.find(['a', 'payments.a'])).toBeUndefined();
});

it('waits for the brokers where it does not know the topic, and asks again after a failure', async () => {
  const { asked, answer, list } = setUp();
  const first = list.find(['payments.b']);
  asked[0]?.reject(new Error('no broker answers'));
  await expect(first).rejects.toThrow('no broker answers');
  const second = list.find(['payments.b']);
  answer('payments.b');
  expect(await second).toBe('payments.b');
});

it('keeps what it knows while the brokers do not answer', async () => {
  const { clock, asked, answer, list } = setUp();
  const first = list.find(['payments.a']);
  answer('payments.a');
  await first;
  await clock.advance(20_000);
  const second = list.find(['payments.a']);
  asked.at(-1)?.reject(new Error('no broker answers'));
  expect(await second).toBe('payments.a');
  expect(await list.find(['payments.a'])).toBe('payments.a');
});
