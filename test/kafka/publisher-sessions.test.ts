import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AttemptError } from '../../src/kafka/attempt-error.ts';
import type { Publisher } from '../../src/kafka/publisher.ts';
import { outgoing, ScriptedCluster } from '../support/scripted-cluster.ts';

// The sleeping of the code under test, on the clock that the tests turn.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => globalThis.setTimeout(resolve, ms)),
}));

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

const publishMany = (deadlineMs: number) =>
  Promise.allSettled(
    Array.from({ length: 400 }, (_, n) => publisher.publish(outgoing(`k${n}`, 'v'), deadlineMs)),
  );

/** The connections of each session since the last look, by the session's number. */
const connected = () => cluster.connected.splice(0).toSorted((a, b) => a - b);

describe('a publisher with eight sessions', () => {
  it('shares them out evenly: each lane keeps to one, and two lanes of sixteen have the same', async () => {
    const sent = publishMany(60_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await sent).filter(({ status }) => status === 'rejected')).toEqual([]);
    const lanes = new Set(cluster.sends.map(({ session, partition }) => `${session} ${partition}`));
    expect(lanes.size).toBe(16);
    expect(new Set(cluster.sends.map(({ session }) => session)).size).toBe(SESSIONS);
  });

  it('connects all of them before its first event', async () => {
    const opened = publisher.open(['t', 'u']);
    await vi.advanceTimersByTimeAsync(1_000);
    await opened;
    expect(connected()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    expect(cluster.opened).toBe(SESSIONS);
  });

  it('opens all the same where one can not connect: its lanes go on trying, and the others work', async () => {
    cluster.isCutOff = (session) => session === 3;
    const opened = publisher.open(['t']);
    await vi.advanceTimersByTimeAsync(1_000);
    await opened;
    expect(connected()).toEqual([0, 1, 2, 4, 5, 6, 7]);
  });

  it('calls a topic well again only when every session can reach its leaders', async () => {
    await vi.advanceTimersByTimeAsync(1_000);
    cluster.fateOf = () => new AttemptError('doubt', 'the brokers are away');
    const given = publishMany(1_000);
    await vi.advanceTimersByTimeAsync(1_500);
    await given;
    expect(publisher.trouble()).toBe('t: the brokers are away');
    const known = cluster.opened;
    cluster.isCutOff = (session) => session === known;
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
    cluster.fateOf = () => new AttemptError('doubt', 'no answer');
    const given = publishMany(5_000);
    await vi.advanceTimersByTimeAsync(5_100);
    await given;
    expect(cluster.opened).toBeLessThanOrEqual(SESSIONS * 27);
    expect(cluster.opened).toBeGreaterThan(SESSIONS * 5);
  });
});
