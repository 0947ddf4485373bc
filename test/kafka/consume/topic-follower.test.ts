import { afterEach, expect, it } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import {
  type FollowerDeps,
  followTopic,
  type TopicFollower,
} from '../../../src/kafka/consume/topic-follower.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { answer, ScriptedTopic } from '../../support/scripted-topic.ts';
import { until } from '../../support/until.ts';

const open: TopicFollower[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((follower) => follower.stop()));
});

async function follow(topic: ScriptedTopic, deps: Partial<FollowerDeps> = {}) {
  const seen: string[] = [];
  const broken: string[] = [];
  const follower = await followTopic({
    openTopic: topic.open,
    topic: 't',
    clock: systemClock,
    onRecord: ({ value }) => void seen.push(String(value)),
    onBrokenOff: ({ message }) => void broken.push(message),
    ...deps,
  });
  open.push(follower);
  return { follower, seen, broken };
}

const soon = () => AbortSignal.timeout(5_000);

it.each([
  ['now', []],
  [1_000, ['b', 'c']],
  [undefined, ['a', 'b', 'c']],
] as const)(
  'a follower that begins at %s hands over what was written from there on',
  async (from, expected) => {
    const topic = new ScriptedTopic([1]);
    topic.append(0, 'a', 'b', 'c');
    const { follower, seen } = await follow(topic, from === undefined ? {} : { from });
    await follower.caughtUp(soon());
    expect(seen).toEqual(expected);
    topic.append(0, 'd');
    await follower.caughtUp(soon());
    expect(seen).toEqual([...expected, 'd']);
  },
);

it('whoever catches up has what this process wrote, also where a leader that was frozen tells an old end', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a');
  const { follower, seen } = await follow(topic);
  follower.wrote({ partition: 0, offset: 1n });
  let isCaughtUp = false;
  const caughtUp = follower.caughtUp(soon()).then(() => {
    isCaughtUp = true;
  });
  await until('the first is handed over', () => seen.length === 1);
  await systemClock.sleep(50);
  expect(isCaughtUp).toBe(false);
  topic.append(0, 'b');
  await caughtUp;
  expect(seen).toEqual(['a', 'b']);
});

it('what this process wrote and is not there for half a minute is lost: nobody waits for it any more', async () => {
  const topic = new ScriptedTopic([1]);
  let skipped = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + skipped };
  const { follower } = await follow(topic, { clock });
  follower.wrote({ partition: 0, offset: 5n });
  const caughtUp = follower.caughtUp(soon());
  await systemClock.sleep(50);
  skipped = 30_000;
  await caughtUp;
  await follower.caughtUp(soon());
});

it('one record is handed over after the other, also where two brokers have them', async () => {
  const topic = new ScriptedTopic([1, 2]);
  topic.append(0, 'a', 'b', 'c', 'd');
  topic.append(1, 'A', 'B', 'C', 'D');
  let under = 0;
  let most = 0;
  const seen: string[] = [];
  const { follower } = await follow(topic, {
    async onRecord({ value }) {
      most = Math.max(most, ++under);
      await systemClock.sleep(2);
      under--;
      seen.push(String(value));
    },
  });
  await follower.caughtUp(soon());
  expect(most).toBe(1);
  expect(seen.filter((one) => one === one.toLowerCase())).toEqual(['a', 'b', 'c', 'd']);
  expect(seen.filter((one) => one === one.toUpperCase())).toEqual(['A', 'B', 'C', 'D']);
});

it('a record that was rejected comes again, and those before it do not', async () => {
  const topic = new ScriptedTopic([1]);
  topic.atOnce = 10;
  topic.append(0, 'a', 'b', 'c');
  const seen: string[] = [];
  let rejections = 2;
  const { follower, broken } = await follow(topic, {
    onRecord({ value }) {
      seen.push(String(value));
      if (String(value) === 'b' && rejections-- > 0) throw new Error('not now');
    },
  });
  await follower.caughtUp(soon());
  expect(seen).toEqual(['a', 'b', 'b', 'b', 'c']);
  expect(broken).toEqual(['not now']);
});

it('a leader that moves costs nothing and is not reported', async () => {
  const topic = new ScriptedTopic([1, 1]);
  const { follower, seen, broken } = await follow(topic);
  topic.append(0, 'a');
  await follower.caughtUp(soon());
  topic.leaders = [2, 1];
  topic.append(0, 'b');
  topic.append(1, 'c');
  await follower.caughtUp(soon());
  expect(seen.toSorted()).toEqual(['a', 'b', 'c']);
  expect(broken).toEqual([]);
});

it('a broker that fails is reported once, and the others are read meanwhile', async () => {
  const topic = new ScriptedTopic([1, 2]);
  topic.failures.set(
    2,
    Array.from({ length: 4 }, () => new Error('connection refused')),
  );
  const { follower, seen, broken } = await follow(topic);
  topic.append(0, 'a');
  topic.append(1, 'b');
  await follower.caughtUp(soon());
  expect(seen).toEqual(['a', 'b']);
  expect(broken).toEqual(['connection refused']);
});

it('a follower that begins at the end waits for partitions that were made just now', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a');
  let failures = 2;
  const openTopic = () => ({
    ...topic.open(),
    async offsets() {
      if (failures-- > 0) throw new Error('Listing offsets failed.');
      return new Map([[0, topic.end(0)]]);
    },
  });
  const { follower, seen } = await follow(topic, { openTopic, from: 'now' });
  topic.append(0, 'b');
  await follower.caughtUp(soon());
  expect(seen).toEqual(['b']);
});

it.each([
  ['brokers that say no for seconds', new Error('Listing offsets failed.'), 6],
  ['a user who may not read', new HooklineError('KAFKA_REFUSED', 't: this user may not read it'), 1],
])(
  'a follower that begins at the end does not wait for %s, and leaves nothing open',
  async (_, failure, times) => {
    const topic = new ScriptedTopic([1]);
    let asked = 0;
    const openTopic = () => ({
      ...topic.open(),
      async offsets() {
        asked++;
        throw failure;
      },
    });
    const clock = { ...systemClock, sleep: () => systemClock.sleep(1) };
    await expect(follow(topic, { openTopic, clock, from: 'now' })).rejects.toBe(failure);
    expect([asked, topic.isClosed]).toEqual([times, true]);
  },
);

it('a follower that begins at the end waits for no answer when nobody waits for it any more', async () => {
  const topic = new ScriptedTopic([1]);
  const opening = new AbortController();
  const asked = Promise.withResolvers<void>();
  const openTopic = () => ({
    ...topic.open(),
    offsets() {
      asked.resolve();
      return new Promise<never>(() => {});
    },
  });
  const following = follow(topic, { openTopic, opening: opening.signal, from: 'now' });
  await asked.promise;
  opening.abort(new Error('interrupted'));
  await expect(following).rejects.toThrow('interrupted');
  expect(topic.isClosed).toBe(true);
});

it('who asks how far the topic goes while a leader moves is not told of it', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a');
  let failures = 2;
  const openTopic = () => ({
    ...topic.open(),
    async offsets(at: Parameters<ReturnType<typeof topic.open>['offsets']>[0]) {
      if (failures-- > 0) throw new Error('Listing offsets failed.');
      return topic.open().offsets(at);
    },
  });
  const { follower, broken } = await follow(topic, { openTopic });
  await follower.caughtUp(soon());
  expect([failures, broken]).toEqual([-1, []]);
});

it('who cannot ask how far the topic goes waits, and it is told once for all that wait, also where the reading goes on', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a');
  let isRefused = true;
  let asked = 0;
  const openTopic = () => ({
    ...topic.open(),
    async offsets(at: Parameters<ReturnType<typeof topic.open>['offsets']>[0]) {
      asked++;
      if (isRefused) throw new HooklineError('KAFKA_REFUSED', 'wrong user or password');
      return topic.open().offsets(at);
    },
  });
  const { follower, seen, broken } = await follow(topic, { openTopic });
  const all = Promise.all([1, 2, 3].map(() => follower.caughtUp(soon())));
  await until('each has asked four times', () => asked >= 12);
  expect(seen).toEqual(['a']);
  expect(broken).toEqual([expect.stringContaining('wrong user or password')]);
  isRefused = false;
  await all;
});

it('a partition without a leader is read as soon as it has one', async () => {
  const topic = new ScriptedTopic([1, 1]);
  topic.leaders = [1, undefined];
  topic.append(0, 'a');
  topic.append(1, 'b');
  const { follower, seen } = await follow(topic);
  await until('the other partition is read', () => seen.length === 1);
  topic.leaders = [1, 1];
  await follower.caughtUp(soon());
  expect(seen).toEqual(['a', 'b']);
});

it('records that retention has taken are passed over', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a', 'b', 'c');
  topic.oldest[0] = 2n;
  const { follower, seen, broken } = await follow(topic);
  await follower.caughtUp(soon());
  expect(seen).toEqual(['c']);
  expect(broken).toEqual([]);
});

it.each([
  ['shorter', ['x']],
  ['longer', ['x', 'y', 'z', 'v', 'w']],
])(
  'a topic that was deleted and created anew is read from its beginning, also where it is %s',
  async (_, values) => {
    const topic = new ScriptedTopic([1]);
    topic.append(0, 'a', 'b', 'c');
    const { follower, seen } = await follow(topic);
    await follower.caughtUp(soon());
    topic.logs[0] = [];
    topic.append(0, ...values);
    topic.topicId = 'second';
    topic.failures.set(1, [answer('UNKNOWN_TOPIC_ID')]);
    await until('the new topic is read', () => seen.length === 3 + values.length);
    expect(seen).toEqual(['a', 'b', 'c', ...values]);
  },
);

it('whoever catches up while the topic is deleted and created anew has what the new one holds', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a', 'b', 'c');
  const rewound: number[] = [];
  let isHeld = true;
  const { follower, seen } = await follow(topic, {
    onRecord({ value }) {
      if (isHeld && String(value) === 'c') throw new Error('not now');
      seen.push(String(value));
    },
    onRewound: (partition) => rewound.push(partition),
  });
  await until('the first ones are read', () => seen.length === 2);
  const caughtUp = follower.caughtUp(soon());
  await systemClock.sleep(30);
  topic.logs[0] = [];
  topic.append(0, 'x');
  topic.topicId = 'second';
  isHeld = false;
  await caughtUp;
  expect([seen, rewound]).toEqual([['a', 'b', 'x'], [0]]);
});

it('a topic that may not be read is not waited for at the start, brokers that start are', async () => {
  const refused = new ScriptedTopic([1]);
  refused.lookUpFailures = [new HooklineError('KAFKA_REFUSED', 't: this user may not read it')];
  await expect(follow(refused)).rejects.toThrow('may not read it');
  expect([refused.isClosed, refused.lookUps]).toEqual([true, 1]);
  const starting = new ScriptedTopic([1]);
  starting.lookUpFailures = [new Error('connection refused'), answer('LEADER_NOT_AVAILABLE')];
  starting.append(0, 'a');
  const { follower, seen } = await follow(starting);
  await follower.caughtUp(soon());
  expect(seen).toEqual(['a']);
});

it('a stop hands nothing over any more, and ends its connections', async () => {
  const topic = new ScriptedTopic([1]);
  topic.atOnce = 10;
  topic.append(0, 'a', 'b', 'c');
  const seen: string[] = [];
  const stopped = Promise.withResolvers<void>();
  const { follower } = await follow(topic, {
    async onRecord({ value }) {
      seen.push(String(value));
      await stopped.promise;
    },
  });
  await until('the first record is there', () => seen.length === 1);
  await follower.stop();
  stopped.resolve();
  topic.append(0, 'd');
  await systemClock.sleep(50);
  expect([seen, topic.isClosed]).toEqual([['a'], true]);
});
