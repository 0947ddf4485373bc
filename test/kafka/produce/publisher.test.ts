import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import { AttemptError, type AttemptOutcome } from '../../../src/kafka/produce/attempt-error.ts';
import type { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { partitionOf } from '../../../src/kafka/produce/topic-queues.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { outgoing, ScriptedCluster } from '../../support/scripted-cluster.ts';

let cluster: ScriptedCluster;
let publisher: Publisher;
const failing = (outcome: AttemptOutcome) => new AttemptError(outcome, outcome);
const places = (count: number) => Array.from({ length: count }, (_, n) => n);

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'performance', 'Date'],
  });
  cluster = new ScriptedCluster();
  publisher = cluster.publisher();
});

afterEach(async () => {
  await publisher.stop();
  vi.useRealTimers();
});

/** Lets timers run until the promise is settled. */
async function settled<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  let end: PromiseSettledResult<T> | undefined;
  void Promise.allSettled([promise]).then(([result]) => {
    end = result;
  });
  for (let n = 0; n < 10_000 && !end; n++) {
    await vi.advanceTimersByTimeAsync(20);
    await new Promise(setImmediate);
  }
  return end ?? expect.fail('never settled');
}

const confirmed = async <T>(promise: Promise<T>) => {
  const result = await settled(promise);
  return result.status === 'fulfilled' ? result.value : expect.fail(String(result.reason));
};
const refused = async (promise: Promise<unknown>) => {
  const result = await settled(promise);
  return result.status === 'rejected' ? result.reason : expect.fail('was confirmed');
};

describe('a publisher', () => {
  it('confirms each record with its own place', async () => {
    const positions = await confirmed(
      Promise.all(places(5).map((n) => publisher.publish(outgoing('k', String(n)), 5_000))),
    );
    const partition = partitionOf(Buffer.from('k'), 4);
    expect(positions).toEqual(places(5).map((n) => ({ topic: 't', partition, offset: BigInt(n) })));
  });

  it('gives a record the time of its publishing, unless it has one', async () => {
    vi.setSystemTime(1_795_168_800_000);
    await confirmed(publisher.publish(outgoing('k', '1'), 5_000));
    await confirmed(publisher.publish({ ...outgoing('k', '2'), timestamp: 7n }, 5_000));
    const [first, second] = cluster.batches.flat().map(({ timestamp }) => Number(timestamp));
    expect([Math.round(Number(first) / 60_000), second]).toEqual([1_795_168_800_000 / 60_000, 7]);
  });

  it('writes the records of a key in the order of the calls, whatever happens to the attempts', async () => {
    const fates = [
      failing('unknown'),
      undefined,
      failing('retry'),
      undefined,
      failing('unknown'),
      failing('unknown'),
    ];
    cluster.fateOf = (_, n) => fates[n % fates.length];
    const sent = places(500).map((n) => publisher.publish(outgoing(`k${n % 7}`, String(n)), 60_000));
    await confirmed(Promise.all(sent));
    for (const partition of places(4)) {
      const first = [...new Set(cluster.values('t', partition))].map(Number);
      expect(first).toEqual([...first].sort((a, b) => a - b));
    }
  });

  it('sends the identical batch again after doubt, over a fresh session, and cuts the old one', async () => {
    cluster.fateOf = (_, n) => (n === 1 ? 'swallow' : undefined);
    await confirmed(publisher.publish(outgoing('k', 'v'), 60_000));
    expect(cluster.batches[1]).toBe(cluster.batches[0]);
    expect(cluster.sends.map((send) => send.session)).toEqual([0, 1]);
    expect(cluster.destroyed).toEqual([0]);
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['v', 'v']);
  });

  it('stays on its session when the broker only asks to try again, but not for ever', async () => {
    cluster.fateOf = (_, n) => (n <= 6 ? failing('retry') : undefined);
    await confirmed(publisher.publish(outgoing('k', 'v'), 60_000));
    expect(cluster.sends.map((send) => send.session)).toEqual([0, 0, 0, 0, 0, 1, 1]);
  });

  it('has one batch in flight in a partition, and goes on in the others', async () => {
    const slow = partitionOf(Buffer.from('a'), 4);
    const others = places(20)
      .map((n) => `b${n}`)
      .filter((key) => partitionOf(Buffer.from(key), 4) !== slow);
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = (send) => (send.partition === slow ? gate.promise : undefined);
    const waiting = places(3).map((n) => publisher.publish(outgoing('a', String(n)), 60_000));
    await confirmed(Promise.all(others.map((key) => publisher.publish(outgoing(key, 'x'), 60_000))));
    waiting.push(publisher.publish(outgoing('a', '3'), 60_000));
    expect(cluster.sends.filter((send) => send.partition === slow)).toHaveLength(1);
    gate.resolve(undefined);
    await confirmed(Promise.all(waiting));
    expect(cluster.values('t', slow)).toEqual(['0', '1', '2', '3']);
  });

  it('sends a record that comes in the moment in which its queue has become empty', async () => {
    for (const steps of places(8)) {
      await publisher.publish(outgoing('k', 'before'), 500);
      await systemClock.turn();
      await systemClock.tick();
      for (const _ of places(steps)) await undefined;
      await confirmed(publisher.publish(outgoing('k', 'then'), 500));
    }
  });

  it('rejects at the deadline, in flight or waiting, and does not send what has passed it', async () => {
    cluster.fateOf = () => 'swallow';
    const inFlight = publisher.publish(outgoing('k', 'first'), 1_000);
    await vi.advanceTimersByTimeAsync(100);
    const waiting = publisher.publish(outgoing('k', 'second'), 500);
    expect(await refused(waiting)).toMatchObject({ code: 'PUBLISH_DEADLINE' });
    expect(await refused(inFlight)).toMatchObject({ code: 'PUBLISH_DEADLINE' });
    cluster.fateOf = () => undefined;
    await confirmed(publisher.publish(outgoing('k', 'third'), 30_000));
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['first', 'third']);
  });

  it('does not count partitions again and again while one session contradicts what another remembers', async () => {
    await confirmed(publisher.publish(outgoing('k', 'first'), 60_000));
    cluster.partitions = 6;
    cluster.remembered = 4;
    const before = cluster.asked.length;
    const later = publisher.publish(outgoing('k', 'later'), 60_000);
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(cluster.asked.length - before).toBeLessThanOrEqual(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(cluster.asked.length - before).toBeLessThanOrEqual(21);
    cluster.remembered = undefined;
    await confirmed(later);
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 6))).toContain('later');
  });

  it('abandons what has a deadline, in flight or waiting, and cuts the connections; what comes later is written', async () => {
    cluster.fateOf = () => 'swallow';
    const inFlight = publisher.publish(outgoing('k', 'first'), 60_000);
    await vi.advanceTimersByTimeAsync(100);
    const waiting = publisher.publish(outgoing('k', 'second'), 60_000);
    const both = Promise.all([refused(inFlight), refused(waiting)]);
    publisher.abandon();
    expect(cluster.destroyed).toEqual([0]);
    expect(await both).toMatchObject([{ code: 'PUBLISH_DEADLINE' }, { code: 'PUBLISH_DEADLINE' }]);
    cluster.fateOf = () => undefined;
    await confirmed(publisher.publish(outgoing('k', 'third'), 30_000));
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['first', 'third']);
  });

  it('never writes a record that was given up while its leader was looked up', async () => {
    const lookedUp = Promise.withResolvers<void>();
    cluster.lookingUp = lookedUp.promise;
    const given = publisher.publish(outgoing('k', 'given up'), 1_000);
    expect(await refused(given)).toMatchObject({ code: 'PUBLISH_DEADLINE' });
    lookedUp.resolve();
    await confirmed(publisher.publish(outgoing('k', 'later'), 5_000));
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['later']);
  });

  it('writes no record after its deadline though no timer has run since, as in a process that was frozen', async () => {
    const lookedUp = Promise.withResolvers<void>();
    cluster.lookingUp = lookedUp.promise;
    const given = publisher.publish(outgoing('k', 'given up'), 1_000);
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    const frozen = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
    lookedUp.resolve();
    await expect(given).rejects.toMatchObject({ code: 'PUBLISH_DEADLINE' });
    frozen.mockRestore();
    await confirmed(publisher.publish(outgoing('k', 'later'), 5_000));
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['later']);
  });

  it('takes a late record out of its batch and writes the others, in their order', async () => {
    const lookedUp = Promise.withResolvers<void>();
    cluster.lookingUp = lookedUp.promise;
    const [first, late, last] = [60_000, 1_000, 60_000].map((deadlineMs, n) =>
      publisher.publish(outgoing('k', String(n)), deadlineMs),
    );
    expect(await refused(late as Promise<unknown>)).toMatchObject({ code: 'PUBLISH_DEADLINE' });
    lookedUp.resolve();
    const partition = partitionOf(Buffer.from('k'), 4);
    expect(await confirmed(Promise.all([first, last]))).toMatchObject([{ offset: 0n }, { offset: 1n }]);
    expect(cluster.values('t', partition)).toEqual(['0', '2']);
  });

  it('sends nothing behind a late record before whoever published that knows of it, and can take back the others', async () => {
    const lookedUp = Promise.withResolvers<void>();
    cluster.lookingUp = lookedUp.promise;
    const late = publisher.publish(outgoing('k', 'late'), 1_000);
    const other = publisher.publish(outgoing('k', 'other'), 3_600_000 * 2);
    const takenBack = late.catch(async () => {
      // As on the way of a webhook: some promises later.
      for (let n = 0; n < 50; n++) await null;
      publisher.dropWaiting();
    });
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    const frozen = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
    lookedUp.resolve();
    await expect(other).rejects.toMatchObject({ code: 'PUBLISH_DEADLINE' });
    await takenBack;
    frozen.mockRestore();
    expect(cluster.sends).toEqual([]);
  });

  it('does not send a late record again though nobody knows whether it was written; the others are confirmed', async () => {
    cluster.fateOf = (_, n) => (n === 1 ? 'swallow' : undefined);
    const late = publisher.publish(outgoing('k', 'late'), 1_000);
    const other = publisher.publish(outgoing('k', 'other'), 60_000);
    expect(await refused(late)).toMatchObject({ code: 'PUBLISH_DEADLINE' });
    expect(await confirmed(other)).toMatchObject({ offset: 2n });
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['late', 'other', 'other']);
  });

  it('gives up a record that is alone too large, and delivers those around and behind it in order', async () => {
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = async (send) => {
      await gate.promise;
      return send.values.includes('huge') ? failing('split') : undefined;
    };
    const publish = (value: string) => publisher.publish(outgoing('k', value), 60_000);
    const first = ['1', '2', 'huge', '4', '5'].map(publish);
    await vi.advanceTimersByTimeAsync(50);
    await new Promise(setImmediate);
    expect(cluster.sends).toHaveLength(1);
    const all = settled(Promise.allSettled([...first, publish('6'), publish('7')]));
    gate.resolve(undefined);
    const done = { status: 'fulfilled' };
    expect(await all).toMatchObject({ value: [done, done, { status: 'rejected' }, done, done, done, done] });
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['1', '2', '4', '5', '6', '7']);
  });

  it('waits out a refusal of a record without a deadline: nothing overtakes it', async () => {
    let isRefused = true;
    cluster.fateOf = (_, n) => {
      if (n > 3) isRefused = false;
      return isRefused ? failing('refused') : undefined;
    };
    const first = publisher.publish(outgoing('k', 'first'), Number.POSITIVE_INFINITY);
    const second = publisher.publish(outgoing('k', 'second'), 60_000);
    expect(await refused(second)).toMatchObject({ code: 'PUBLISH_REFUSED' });
    expect(await settled(first)).toMatchObject({ status: 'fulfilled' });
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))[0]).toBe('first');
  });

  it('that waits a refusal out has the time of its next try: the clock may have been wrong', async () => {
    const HOUR_MS = 3_600_000;
    const rightMs = 1_795_168_800_000;
    const times: bigint[] = [];
    cluster.fateOf = () => {
      const { timestamp = 0n } = cluster.batches.at(-1)?.[0] ?? {};
      times.push(timestamp);
      if (timestamp < BigInt(rightMs + HOUR_MS)) return undefined;
      vi.setSystemTime(rightMs);
      return failing('refused');
    };
    vi.setSystemTime(rightMs + 2 * HOUR_MS);
    await confirmed(publisher.publish(outgoing('k', 'v'), Number.POSITIVE_INFINITY));
    expect(times.map((time) => Math.floor((Number(time) - rightMs) / HOUR_MS))).toEqual([2, 0]);
  });

  it('gives up what waits when it is told to, and sends it no more; what has no deadline stays', async () => {
    cluster.fateOf = () => failing('retry');
    const promises = ['a', 'b', 'c'].map((value) => publisher.publish(outgoing('k', value), 60_000));
    const forever = publisher.publish(outgoing('k', 'd'), Number.POSITIVE_INFINITY);
    await vi.advanceTimersByTimeAsync(100);
    const given = Promise.allSettled(promises);
    publisher.dropWaiting();
    for (const one of await given)
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'PUBLISH_DEADLINE' } });
    cluster.fateOf = () => undefined;
    await confirmed(Promise.all([forever, publisher.publish(outgoing('k', 'e'), 60_000)]));
    expect(publisher.backlogBytes).toBe(0);
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 4))).toEqual(['d', 'e']);
  });

  it('gives up in time what a halted queue has left, while another still ends its batch', async () => {
    const of = (key: string) => partitionOf(Buffer.from(key), 4);
    const other =
      places(20)
        .map((n) => `k${n}`)
        .find((key) => of(key) !== of('k')) ?? expect.fail('no key');
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = ({ partition }) => (partition === of('k') ? gate.promise : undefined);
    const slow = publisher.publish(outgoing('k', 'slow'), 60_000);
    await vi.advanceTimersByTimeAsync(100);
    const behind = publisher.publish(outgoing('k', 'behind'), 60_000);
    cluster.partitions = 6;
    const [left] = await Promise.all([
      Promise.allSettled([publisher.publish(outgoing(other, 'left'), 1_000)]),
      vi.advanceTimersByTimeAsync(1_200),
    ]);
    expect(left).toMatchObject([{ reason: { code: 'PUBLISH_DEADLINE' } }]);
    gate.resolve(undefined);
    await confirmed(Promise.all([slow, behind]));
    expect(cluster.sends.map(({ values }) => values)).toEqual([['slow'], ['behind']]);
  });

  it('is open when the partitions of its topics are known, and not before', async () => {
    const counted = Promise.withResolvers<void>();
    cluster.counting = counted.promise;
    let isOpen = false;
    const opened = publisher.open(['t']).then(() => {
      isOpen = true;
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isOpen).toBe(false);
    counted.resolve();
    await confirmed(opened);
  });

  it('takes a record that was given up out of its backlog once, also where a halted queue has left it', async () => {
    const gate = Promise.withResolvers<AttemptError>();
    cluster.fateOf = ({ values }) => (values.length === 2 ? gate.promise : undefined);
    const first = publisher.publish(outgoing('k', 'first'), 60_000);
    const second = refused(publisher.publish(outgoing('k', 'second'), 1_000));
    expect(await second).toMatchObject({ code: 'PUBLISH_DEADLINE' });
    const counted = Promise.withResolvers<void>();
    cluster.counting = counted.promise;
    cluster.partitions = 6;
    gate.resolve(failing('split'));
    // Its queue halts, and then its time is looked at once more.
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(1_000);
    counted.resolve();
    await confirmed(first);
    expect(publisher.backlogBytes).toBe(0);
    expect(cluster.values('t', partitionOf(Buffer.from('k'), 6))).toEqual(['first']);
  });

  it('calls a topic well no sooner than what waits in one of its partitions is confirmed, whatever the others do', async () => {
    cluster.fateOf = () => 'swallow';
    const waiting = publisher.publish(outgoing('k', 'v'), 60_000);
    await vi.advanceTimersByTimeAsync(5_200);
    expect(publisher.trouble()).toContain('no answer');
    await vi.advanceTimersByTimeAsync(4_500);
    expect(publisher.trouble()).toContain('no answer');
    cluster.fateOf = () => undefined;
    await confirmed(waiting);
    expect(publisher.trouble()).toBeNull();
  });

  it('explains a missed deadline by what is known of its topic, not of another one', async () => {
    cluster.fateOf = () => 'swallow';
    const waiting = publisher.publish({ ...outgoing('k', 'v'), topic: 'other' }, 60_000);
    await vi.advanceTimersByTimeAsync(5_200);
    expect(publisher.trouble()).toContain('other: no answer');
    const late = await refused(publisher.publish(outgoing('k', 'v'), 1_000));
    expect(publisher.explain(late)).toMatchObject({
      code: 'PUBLISH_DEADLINE',
      detail: 't: no confirmation within the deadline',
    });
    const stopped = refused(waiting);
    await publisher.stop();
    const closed = await stopped;
    expect([closed.code, publisher.explain(closed)]).toEqual(['PUBLISHER_CLOSED', closed]);
  });

  it('sends large batches again a minute after its topic took none', async () => {
    let most = 3;
    cluster.fateOf = ({ values }) => (values.length > most ? failing('split') : undefined);
    const publish = async () => {
      cluster.sends.length = 0;
      const records = places(16).map((n) => publisher.publish(outgoing('k', `${n}`.padEnd(20_000)), 60_000));
      await confirmed(Promise.all(records));
      return cluster.sends.map(({ values }) => values.length);
    };
    const SMALL = [2, 2, 2, 2, 2, 2, 2, 2];
    expect(await publish()).toEqual([16, 8, 4, ...SMALL]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await publish()).toEqual([16, 8, 4, ...SMALL]);
    most = 16;
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await publish()).toEqual(SMALL);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await publish()).toEqual([16]);
  });

  it('names the topic of a record that is too large, and the reason of one that is refused', async () => {
    cluster.fateOf = () => failing('split');
    expect(await refused(publisher.publish(outgoing('k', 'v'), 5_000))).toMatchObject({
      code: 'RECORD_TOO_LARGE',
      topic: 't',
    });
    cluster.fateOf = () => failing('refused');
    expect(await refused(publisher.publish(outgoing('k', 'v'), 5_000))).toMatchObject({
      code: 'PUBLISH_REFUSED',
      message: 'the brokers refuse the record (refused)',
    });
    cluster.fateOf = () => new AttemptError('refused', 'TOPIC_AUTHORIZATION_FAILED');
    expect(await refused(publisher.publish(outgoing('k', 'v'), 5_000))).toMatchObject({
      remedy: 'grant Write on t to the user that Hookline logs in as',
    });
  });

  it('plans its partition queues again when the topic has another number of partitions, keeping the order of each key', async () => {
    const before = places(60).map((n) => publisher.publish(outgoing(`k${n % 5}`, String(n)), 60_000));
    cluster.partitions = 6;
    const counted = Promise.withResolvers<void>();
    cluster.counting = counted.promise;
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    const after = places(60).map((n) => publisher.publish(outgoing(`k${n % 5}`, String(n + 60)), 60_000));
    counted.resolve();
    const positions = await confirmed(Promise.all([...before, ...after]));
    for (const [n, position] of positions.entries()) {
      expect(position.partition).toBe(partitionOf(Buffer.from(`k${n % 5}`), 6));
    }
    for (const partition of places(6)) {
      const values = cluster.values('t', partition).map(Number);
      expect(values).toEqual([...values].sort((a, b) => a - b));
    }
  });

  it('waits for a topic that is not there yet, and says what creates it', async () => {
    cluster.cannotCount = new AttemptError('retry', 'UNKNOWN_TOPIC_OR_PARTITION');
    const waiting = publisher.publish(outgoing('k', 'v'), 60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(publisher.trouble()).toBe(
      't: UNKNOWN_TOPIC_OR_PARTITION: run hookline topics apply, which creates it',
    );
    cluster.cannotCount = undefined;
    await confirmed(waiting);
    expect(publisher.trouble()).toBeNull();
  });

  it('names the right that is missing where it may not even see a topic', async () => {
    cluster.cannotCount = new AttemptError('refused', 'TOPIC_AUTHORIZATION_FAILED');
    const waiting = publisher.publish(outgoing('k', 'v'), 60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(publisher.trouble()).toBe(
      't: TOPIC_AUTHORIZATION_FAILED: grant Write on t to the user that Hookline logs in as',
    );
    cluster.cannotCount = undefined;
    await confirmed(waiting);
    expect(publisher.trouble()).toBeNull();
  });

  it('rejects what waits for a topic that does not come', async () => {
    cluster.cannotCount = new AttemptError('retry', 'UNKNOWN_TOPIC_OR_PARTITION');
    expect(await refused(publisher.publish(outgoing('k', 'v'), 2_000))).toMatchObject({
      code: 'PUBLISH_DEADLINE',
    });
    expect(publisher.backlogBytes).toBe(0);
  });

  it('takes no more than its backlog holds, and counts every record off again', async () => {
    await publisher.stop();
    publisher = cluster.publisher(1_000);
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = () => gate.promise;
    const taken = places(5).map((n) => publisher.publish(outgoing('k', 'x'.repeat(50 + n)), 60_000));
    expect(await refused(publisher.publish(outgoing('k', 'y'.repeat(500)), 60_000))).toMatchObject({
      code: 'PUBLISH_BACKLOG_FULL',
    });
    gate.resolve(undefined);
    await confirmed(Promise.all(taken));
    expect(publisher.backlogBytes).toBe(0);
    await confirmed(publisher.publish(outgoing('k', 'z'.repeat(5_000)), 60_000));
  });

  it('refuses nothing that waits as long as it takes: it would come behind later ones of its key', async () => {
    await publisher.stop();
    publisher = cluster.publisher(1_000);
    const gate = Promise.withResolvers<undefined>();
    cluster.fateOf = () => gate.promise;
    const endless = Number.POSITIVE_INFINITY;
    const taken = places(5).map((n) => publisher.publish(outgoing('k', `${n}`.repeat(500)), endless));
    gate.resolve(undefined);
    await confirmed(Promise.all(taken));
    expect(publisher.backlogBytes).toBe(0);
  });

  it('rejects what waits when it is stopped, and takes nothing after', async () => {
    cluster.fateOf = () => failing('retry');
    const waiting = places(3).map((n) => publisher.publish(outgoing(`k${n}`, 'v'), 60_000));
    const ends = settled(Promise.allSettled(waiting));
    await vi.advanceTimersByTimeAsync(200);
    await publisher.stop();
    const closed = { status: 'rejected', reason: { code: 'PUBLISHER_CLOSED' } };
    expect(await ends).toMatchObject({ value: [closed, closed, closed] });
    await expect(publisher.publish(outgoing('k', 'v'), 1_000)).rejects.toMatchObject({
      code: 'PUBLISHER_CLOSED',
    });
    expect(cluster.destroyed).toContain(cluster.opened - 1);
  });

  it('rejects what waits for the partitions of its topic when it is stopped', async () => {
    cluster.cannotCount = new AttemptError('retry', 'UNKNOWN_TOPIC_OR_PARTITION');
    const ends = settled(publisher.publish(outgoing('k', 'v'), 60_000));
    await vi.advanceTimersByTimeAsync(200);
    await publisher.stop();
    expect(await ends).toMatchObject({ status: 'rejected', reason: { code: 'PUBLISHER_CLOSED' } });
  });

  it.each(['retry', 'unknown'] as const)(
    'is troubled by an attempt that ends with %s until one is confirmed',
    async (outcome) => {
      cluster.fateOf = () => failing(outcome);
      const waiting = publisher.publish(outgoing('k', 'v'), 60_000);
      await vi.advanceTimersByTimeAsync(200);
      expect(publisher.trouble()).toBe(`t: ${outcome}`);
      cluster.fateOf = () => undefined;
      await confirmed(waiting);
      expect(publisher.trouble()).toBeNull();
    },
  );

  it('opens sessions no faster than five a second while every one is doubted', async () => {
    cluster.fateOf = () => failing('unknown');
    const waiting = places(40).map((n) => publisher.publish(outgoing(`k${n}`, 'v'), 5_000));
    await settled(Promise.allSettled(waiting));
    expect(cluster.opened).toBeLessThanOrEqual(27);
    expect(cluster.opened).toBeGreaterThan(5);
  });

  /** No client can be made until the function that it gives is called. */
  const failToOpen = (error: Error) => {
    const { open } = cluster;
    let isRepaired = false;
    cluster.open = () => {
      if (!isRepaired) throw error;
      return open();
    };
    return () => {
      isRepaired = true;
    };
  };

  it('says a trouble by its code in the table of errors, as readiness and the log repeat it', async () => {
    await publisher.stop();
    const repair = failToOpen(new HooklineError('KAFKA_UNAVAILABLE', 'b:9092: nobody listens there'));
    publisher = cluster.publisher();
    const waiting = publisher.publish(outgoing('k', 'v'), 60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(publisher.trouble()).toContain('KAFKA_UNAVAILABLE: the brokers cannot be reached');
    repair();
    await confirmed(waiting);
  });

  it('goes on when no client can be made for a while, and says so', async () => {
    await publisher.stop();
    const repair = failToOpen(new Error('ENOENT ca.pem'));
    publisher = cluster.publisher();
    const waiting = publisher.publish(outgoing('k', 'v'), 60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(publisher.trouble()).toContain('ENOENT ca.pem');
    repair();
    await confirmed(waiting);
    expect(publisher.trouble()).toBeNull();
  });
});
