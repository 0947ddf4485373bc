import { expect, it } from 'vitest';
import type { Lease } from '../../../src/core/lease.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { type GroupReaderDeps, readInGroup } from '../../../src/kafka/consume/group-reader.ts';
import { forbidden, type TopicFetcher } from '../../../src/kafka/consume/topic-fetcher.ts';
import { manualClock } from '../../support/manual-clock.ts';

type Payload = Record<string, unknown>;

const refusal = (message: string) =>
  Object.assign(new Error(message), { name: 'KafkaJSSASLAuthenticationError' });

/** A reader whose consumers connect or fail as told, in turn; the group gives each of them partition 0. */
async function open(handle: GroupReaderDeps['handle'] = async () => {}, ...first: Error[]) {
  const clock = manualClock();
  const connects: (Error | null)[] = [];
  /** How consumers end that could not join. */
  const crashes = first;
  const seen = {
    topicId: 'first',
    mayRead: true,
    answers: Promise.resolve(),
    consumers: 0,
    /** Of topics, that are open. */
    fetchers: 0,
    left: 0,
    paused: 0,
    commits: [] as string[],
    sought: [] as string[],
  };
  const on = {
    refused: [] as (string | null)[],
    told: [] as string[],
    fatal: [] as string[],
    leases: [] as (Lease | null)[],
  };
  let listeners = new Map<string, ((event: { payload: Payload }) => void)[]>();
  let eachBatch: (payload: Payload) => Promise<void> = async () => {};
  const tell = (name: string, payload: Payload) => {
    for (const listener of listeners.get(name) ?? []) listener({ payload });
  };
  const consumer = () => {
    seen.consumers++;
    listeners = new Map();
    return {
      events: new Proxy({}, { get: (_, name) => name }),
      on: (name: string, listener: (event: { payload: Payload }) => void) =>
        void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
      async connect() {
        const fault = connects.shift();
        if (fault) throw fault;
      },
      async run(options: { eachBatch: typeof eachBatch }) {
        eachBatch = options.eachBatch;
        const denial = crashes.shift();
        if (denial) return tell('CRASH', { restart: false, error: denial });
        tell('GROUP_JOIN', { memberAssignment: { t: [0] } });
        if (seen.mayRead) tell('FETCH', {});
      },
      disconnect: async () => void seen.left++,
      commitOffsets: async ([{ offset }]: [{ offset: string }]) => void seen.commits.push(offset),
      subscribe: async () => {},
      pause: () => void seen.paused++,
      resume() {},
      seek: ({ offset }: { offset: string }) => void seen.sought.push(offset),
    };
  };
  const reader = await readInGroup({
    kafka: { consumer } as unknown as KafkaClient,
    groupId: 'g',
    topics: ['t'],
    clock,
    handle,
    sessionTimeoutMs: 10_000,
    keysOf: async () => [],
    onError: expect.fail,
    onWorking: (lease) => on.leases.push(lease),
    onRefused: (error) => on.refused.push(error?.message ?? null),
    openTopic: () => {
      seen.fetchers++;
      return {
        lookUp: async () => ({ topicId: seen.topicId, leaders: [1] }),
        offsets: async () => new Map([[0, 7n]]),
        async fetch() {
          if (!seen.mayRead) throw forbidden('t', new Error('denied'));
          await seen.answers;
          return [];
        },
        close: () => void seen.fetchers--,
      } as unknown as TopicFetcher;
    },
    onRecreated: (topic) => on.told.push(`${topic} is another one`),
    onInterrupted: (error) => on.told.push(error.message),
    onFatal: (error) => on.fatal.push(error.message),
  });
  const crash = (error: Error) => tell('CRASH', { restart: false, error });
  const give = (...offsets: number[]) =>
    eachBatch({
      batch: {
        topic: 't',
        partition: 0,
        lastOffset: () => String(offsets.at(-1)),
        messages: offsets.map((offset) => ({
          offset: String(offset),
          key: null,
          value: null,
          timestamp: '0',
        })),
      },
      isRunning: () => true,
      isStale: () => false,
      resolveOffset() {},
      heartbeat: async () => {},
    });
  return { reader, clock, connects, crashes, seen, on, crash, give, tell };
}

/** As kafkajs tells it: the kind of right alone. */
const denial = (kind: 'TOPIC' | 'GROUP') =>
  new Error('Not authorized', {
    cause: Object.assign(new Error('Not authorized'), { type: `${kind}_AUTHORIZATION_FAILED` }),
  });

it('credentials that are refused are tried again, as the files hold them then; each reason is reported once', async () => {
  const { reader, clock, connects, seen, on, crash } = await open();
  connects.push(refusal('old password'), refusal('old password'), refusal('no such user'));
  crash(refusal('old password'));
  await clock.advance(1_999);
  expect(seen.consumers).toBe(1);
  for (let n = 0; n < 4; n++) await clock.advance(2_000);
  expect([seen.consumers, on.refused]).toEqual([5, ['old password', 'no such user', null]]);
  expect(on.fatal).toEqual([]);
  // It worked before, stood by meanwhile, and works again.
  expect(on.leases.map((lease) => lease?.signal.aborted)).toEqual([true, undefined, false]);
  await reader.stop();
});

it('a session that cannot be renewed, as the token is that of another user now, is followed by a new one', async () => {
  const { reader, clock, seen, on, crash } = await open();
  const message = 'Cannot change principals during re-authentication from User.one: User.two';
  crash(Object.assign(new Error(message), { type: 'SASL_AUTHENTICATION_FAILED' }));
  await clock.advance(2_000);
  expect([seen.consumers, on.fatal]).toEqual([2, []]);
  await reader.stop();
});

it('a group that no broker keeps for a while is joined again when one does', async () => {
  const { reader, clock, connects, seen, on, crash } = await open();
  const none = () =>
    Object.assign(new Error('Failed to find group coordinator'), {
      name: 'KafkaJSGroupCoordinatorNotFound',
      retriable: false,
    });
  connects.push(none(), none());
  crash(none());
  expect(reader.trouble()).toContain('none of them is ready to coordinate the consumer group g');
  for (let n = 0; n < 4; n++) await clock.advance(2_000);
  expect([seen.consumers, on.fatal]).toEqual([4, []]);
  expect(on.refused).toEqual([expect.stringContaining('none of them is ready to coordinate'), null]);
  expect(reader.trouble()).toBeNull();
  await reader.stop();
});

it('silence is counted from the last attempt while credentials are refused: the process stays alive', async () => {
  const { reader, clock, connects, crash } = await open();
  connects.push(...Array.from({ length: 100 }, () => refusal('no')));
  crash(refusal('no'));
  await clock.advance(150_000);
  expect(reader.silentFor()).toBeLessThanOrEqual(2_000);
  await reader.stop();
  await clock.advance(60_000);
  expect(connects.length).toBeGreaterThan(20);
});

it('a topic that may not be read any more is waited for outside the group, and named at once with the right that is missing', async () => {
  const { reader, clock, seen, on, crash } = await open();
  seen.mayRead = false;
  crash(denial('TOPIC'));
  expect(on.refused).toEqual([
    expect.stringMatching(/\(t: this user may not read it\): grant Describe and Read on this topic/),
  ]);
  expect(reader.trouble()).toMatch(/^KAFKA_REFUSED: .*t: this user may not read it/);
  await clock.advance(130_000);
  // As a member it would begin work that ends at once, again and again.
  expect([seen.consumers, on.refused.length, on.leases.at(-1)]).toEqual([1, 1, null]);
  // The one that watches whether the topic is still the same.
  expect(seen.fetchers).toBe(1);
  expect(reader.silentFor()).toBeLessThanOrEqual(2_000);
  seen.mayRead = true;
  await clock.advance(2_000);
  expect([seen.consumers, on.refused.at(-1), reader.trouble(), on.fatal]).toEqual([2, null, null, []]);
  expect(on.leases.at(-1)?.signal.aborted).toBe(false);
  await reader.stop();
});

it('a stop while it is asked whether a topic may be read again waits for no answer, and no consumer joins behind it', async () => {
  const { reader, clock, seen, crash } = await open();
  const answers = Promise.withResolvers<void>();
  seen.answers = answers.promise;
  crash(denial('TOPIC'));
  await clock.advance(2_000);
  await reader.stop();
  answers.resolve();
  await clock.advance(10_000);
  expect(seen.consumers).toBe(1);
});

it('a group that may not be used any more is waited for: it is read again only when a fetch has succeeded', async () => {
  const { reader, clock, crashes, seen, on, crash } = await open();
  crashes.push(denial('GROUP'), denial('GROUP'));
  seen.mayRead = false;
  crash(denial('GROUP'));
  await clock.advance(6_500);
  // Those that could not join leave nothing open.
  expect([seen.consumers, seen.left]).toEqual([4, 2]);
  expect(on.refused).toEqual([
    expect.stringMatching(/the consumer group g: this user may not use it\): grant Read on this group/),
  ]);
  // The group has it again, but not what it reads.
  crash(denial('TOPIC'));
  expect(reader.trouble()).toMatch(/t: this user may not read it/);
  seen.mayRead = true;
  await clock.advance(2_000);
  expect([on.refused.length, on.refused.at(-1), reader.trouble(), on.fatal]).toEqual([3, null, null, []]);
  await reader.stop();
});

it('rejects at the start where this user may not use the group', async () => {
  await expect(open(undefined, denial('GROUP'))).rejects.toMatchObject({
    code: 'KAFKA_REFUSED',
    detail: 'the consumer group g: this user may not use it',
  });
});

it('a consumer that ends for another reason is reported as fatal, and no other takes its place', async () => {
  const { clock, seen, on, crash } = await open();
  crash(new RangeError('Invalid array length'));
  await clock.advance(60_000);
  expect([on.fatal, seen.consumers, on.refused]).toEqual([['Invalid array length'], 1, []]);
  expect(on.leases.at(-1)).toBeNull();
});

it('a topic that is another one of the same name is read from its beginning, and nothing more of the one before is committed', async () => {
  const done = Promise.withResolvers<void>();
  const { reader, clock, seen, on, give, tell } = await open(({ offset }) =>
    offset === 7n ? done.promise : Promise.resolve(),
  );
  const heartbeat = () => {
    tell('REQUEST', { apiName: 'Heartbeat', duration: 0, createdAt: clock.wall() });
    tell('HEARTBEAT', {});
  };
  await give(7);
  await clock.advance(5_000);
  expect([seen.sought, on.told]).toEqual([[], []]);
  heartbeat();
  seen.topicId = 'second';
  await clock.advance(5_000);
  expect([seen.sought, on.told]).toEqual([['0'], ['t is another one']]);
  // Whoever begins after it begins there, too.
  expect(seen.commits.at(-1)).toBe('0');
  heartbeat();
  done.resolve();
  await give(0, 1);
  await clock.advance(5_000);
  expect([seen.commits.at(-1), seen.commits.includes('8')]).toEqual(['2', false]);
  expect(seen.sought).toHaveLength(1);
  await reader.stop();
});

it('a record is committed when it is done', async () => {
  const { reader, clock, seen, give } = await open();
  await give(4, 5);
  await clock.advance(0);
  await clock.advance(0);
  expect(seen.commits.at(-1)).toBe('6');
  await reader.stop();
});

it('the stop ends the lease, waits for handlers in progress 15 s at most, and leaves the group', async () => {
  let lease: Lease | undefined;
  const { reader, clock, seen, on, give } = await open(async (_, own) => {
    lease = own;
    await new Promise(() => {});
  });
  await give(1);
  await clock.advance(0);
  const stopping = reader.stop();
  expect([lease?.signal.aborted, on.leases[0]?.signal.aborted, seen.left]).toEqual([true, true, 0]);
  // What comes meanwhile is for the next process, and would be fetched again and again.
  await give(2);
  expect(seen.paused).toBe(1);
  await clock.advance(15_000);
  await stopping;
  expect([seen.left, seen.commits]).toEqual([1, []]);
});

it('tells once a minute why nothing is read while the client begins anew again and again', async () => {
  const { reader, clock, on, tell } = await open();
  const begin = (text: string) => tell('CRASH', { restart: true, error: new Error(text) });
  begin('no such topic');
  await clock.advance(59_000);
  begin('no such topic');
  expect(on.told).toEqual(['no such topic']);
  await clock.advance(1_000);
  begin('still no such topic');
  expect(on.told).toEqual(['no such topic', 'still no such topic']);
  expect(on.fatal).toEqual([]);
  await reader.stop();
});

it('tells that the brokers are not ready to keep the group, with the name of the group', async () => {
  const { reader, on, tell } = await open();
  const loading = Object.assign(new Error('The coordinator is loading'), { type: 'GROUP_LOAD_IN_PROGRESS' });
  const error = new Error('Number of retries exceeded', { cause: loading });
  tell('CRASH', { restart: true, error });
  expect(on.told).toEqual([
    expect.stringContaining('none of them is ready to coordinate the consumer group g'),
  ]);
  await reader.stop();
});
