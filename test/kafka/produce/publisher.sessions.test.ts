import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AttemptError } from '../../../src/kafka/produce/attempt-error.ts';
import type { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { partitionOf } from '../../../src/kafka/produce/topic-queues.ts';
import { outgoing, ScriptedCluster } from '../../support/scripted-cluster.ts';

const SESSIONS = 8;
let cluster: ScriptedCluster;
let publisher: Publisher;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'performance'] });
  cluster = new ScriptedCluster();
  cluster.partitions = 16;
  publisher = cluster.publisher(1e9, undefined, SESSIONS);
});

afterEach(async () => {
  await publisher.stop();
  vi.useRealTimers();
});

const publishMany = (deadlineMs: number, value = 'v') =>
  Promise.allSettled(
    Array.from({ length: 400 }, (_, n) => publisher.publish(outgoing(`k${n}`, value), deadlineMs)),
  );

const afterMs = (ms: number) => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms));

/** Of a record: so that a batch is too large to share a request. */
const LARGE = 'v'.repeat(70_000);

/** The connections of each session since the last look, by the session's number. */
const connected = () => cluster.connected.splice(0).toSorted((a, b) => a - b);

describe('a publisher with eight sessions', () => {
  it('shares large batches that are under way out evenly', async () => {
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = () => gate.promise;
    const given = publishMany(60_000, LARGE);
    await vi.advanceTimersByTimeAsync(2_000);
    const sessions = cluster.sends.map(({ session }) => session);
    expect(sessions.toSorted()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    gate.resolve(undefined);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await given).filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  it('sends small batches that begin in one turn over the same one, so that they share requests', async () => {
    await publishMany(60_000);
    expect(new Set(cluster.sends.splice(0).map(({ session }) => session)).size).toBe(1);
    await publishMany(60_000);
    expect(cluster.sends.length).toBeGreaterThanOrEqual(16);
    expect(new Set(cluster.sends.map(({ session, isAlone }) => `${session} ${isAlone}`)).size).toBe(1);
  });

  it('sends each again by itself, over all of them, when nobody knows what became of their request', async () => {
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = (_, n) => (n <= 16 ? new AttemptError('unknown', 'no answer') : gate.promise);
    const given = publishMany(60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    gate.resolve(undefined);
    await vi.advanceTimersByTimeAsync(1_000);
    await given;
    expect(cluster.sends.slice(0, 16).every(({ isAlone }) => !isAlone)).toBe(true);
    const again = cluster.sends.slice(16, 32);
    expect(again.every(({ isAlone }) => isAlone)).toBe(true);
    expect(new Set(again.map(({ session }) => session)).size).toBe(SESSIONS);
  });

  it.each(['retry', 'late', 'unknown'] as const)(
    'moves each from a shared request with the outcome %s to a session of its own, where a stuck one holds up no other',
    async (outcome) => {
      cluster.partitions = SESSIONS;
      let sent = 0;
      const answered = new Map<number, Promise<unknown>>();
      cluster.fateOf = async ({ session, partition }) => {
        if (++sent <= SESSIONS) return new AttemptError(outcome, outcome);
        // A broker takes the next request of a connection when it has answered the one before.
        const own = () => (partition === 0 ? new Promise(() => {}) : afterMs(5));
        const turn = (answered.get(session) ?? Promise.resolve()).then(own);
        answered.set(session, turn);
        const timeOut = afterMs(3_000).then(() => new AttemptError('unknown', 'no answer'));
        return Promise.race([turn.then(() => undefined), timeOut]);
      };
      const given = publishMany(8_000);
      await vi.advanceTimersByTimeAsync(10_000);
      const ends = await given;
      const stuck = ends.filter((_, n) => partitionOf(Buffer.from(`k${n}`), SESSIONS) === 0);
      expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(stuck.length);
    },
  );

  it('sends the batches of a slow partition by themselves, and those of the others soon together again', async () => {
    cluster.fateOf = ({ partition }) => afterMs(partition === 0 ? 400 : 5);
    const rounds = [publishMany(60_000)];
    await vi.advanceTimersByTimeAsync(3_000);
    cluster.sends.length = 0;
    for (let round = 0; round < 20; round++) {
      rounds.push(publishMany(60_000));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    await Promise.all(rounds);
    const alone = cluster.sends.filter(({ isAlone }) => isAlone).map(({ partition }) => partition);
    expect(new Set(alone)).toEqual(new Set([0]));
    expect(new Set(cluster.sends.map(({ partition }) => partition)).size).toBe(16);
  });

  it('keeps clear of one over which a slow partition waits for its answer, however many others are busy', async () => {
    const gate = Promise.withResolvers<undefined>();
    const pause = () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 5));
    cluster.fateOf = ({ partition }) => (partition === 0 ? gate.promise : pause());
    const rounds = [];
    for (let n = 0; n < 20; n++) {
      rounds.push(publishMany(60_000));
      await vi.advanceTimersByTimeAsync(10);
    }
    const slow = cluster.sends.findIndex(({ partition }) => partition === 0);
    const later = cluster.sends.slice(slow + 16);
    expect(later.length).toBeGreaterThan(100);
    expect(later.filter(({ session }) => session === cluster.sends[slow]?.session)).toEqual([]);
    gate.resolve(undefined);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await Promise.all(rounds)).flat().filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  it('connects all of them before its first event, each with one question', async () => {
    const opened = publisher.open(['t', 'u']);
    await vi.advanceTimersByTimeAsync(1_000);
    await opened;
    expect(connected()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(cluster.opened).toBe(SESSIONS);
  });

  it('opens all the same where one can not connect: its sessions go on trying, and the others work', async () => {
    cluster.isCutOff = (session) => session === 3;
    cluster.connecting = new Promise((resolve) => setTimeout(resolve, 500));
    const opened = publisher.open(['t']);
    void vi.advanceTimersByTimeAsync(1_000);
    await opened;
    expect(connected()).toEqual([0, 1, 2, 4, 5, 6, 7]);
  });

  it('calls a topic well again only when every session can reach its leaders', async () => {
    await vi.advanceTimersByTimeAsync(1_000);
    cluster.fateOf = () => new AttemptError('unknown', 'the brokers are unavailable');
    const given = publishMany(1_000);
    await vi.advanceTimersByTimeAsync(1_500);
    await given;
    expect(publisher.trouble()).toBe('t: the brokers are unavailable');
    const known = cluster.opened;
    cluster.isCutOff = (session) => session >= known - 1;
    cluster.fateOf = () => undefined;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(publisher.trouble()).toBe('t: cut off');
    cluster.isCutOff = () => false;
    connected();
    await vi.advanceTimersByTimeAsync(4_000);
    expect(publisher.trouble()).toBeNull();
    expect(new Set(connected()).size).toBe(SESSIONS);
  });

  it('looks at one of them after the other while all is well', async () => {
    const opened = publisher.open(['t']);
    await vi.advanceTimersByTimeAsync(1_000);
    await opened;
    connected();
    cluster.asked.length = 0;
    await vi.advanceTimersByTimeAsync(32_000);
    expect(connected()).toEqual([]);
    expect(new Set(cluster.asked).size).toBe(SESSIONS);
  });

  it('opens each no faster than five times a second while every one is doubted', async () => {
    cluster.fateOf = () => new AttemptError('unknown', 'no answer');
    const given = publishMany(5_000);
    await vi.advanceTimersByTimeAsync(5_100);
    await given;
    expect(cluster.opened).toBeLessThanOrEqual(SESSIONS * 27);
    expect(cluster.opened).toBeGreaterThan(SESSIONS * 5);
  });
});
