import { describe, expect, it } from 'vitest';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { acquireLeaderLease, type HeldLease } from '../../../src/kafka/consume/leader-lease.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { manualClock } from '../../support/manual-clock.ts';

/** A clock on which no sleep takes time, but for the deadline of leaving. */
const clock: typeof systemClock = {
  ...systemClock,
  sleep: async (_ms, { signal, ref } = {}) =>
    ref === false ? new Promise(() => {}) : signal?.throwIfAborted(),
};
const { signal } = new AbortController();
const acquire = (kafka: KafkaClient, stop = signal, by: Clock = clock) =>
  acquireLeaderLease({ kafka, groupId: 'g', topic: 't', clock: by, signal: stop });

async function acquireHeld(kafka: KafkaClient, by?: Clock): Promise<HeldLease> {
  const result = await acquire(kafka, signal, by);
  return 'holder' in result ? expect.fail('held by another') : result;
}

type Listener = (event: { payload: unknown }) => void;
/** Several for each event. */
class Listeners extends Map<string, Listener[]> {
  add = (event: string, listener: Listener) => void this.set(event, [...(this.get(event) ?? []), listener]);
  tell(event: string, payload: unknown): void {
    for (const listener of this.get(event) ?? []) listener({ payload });
  }
}

/** A client whose consumers meet these faults while they join, one after the other, and then lead their group. */
function scriptedClient(faults: readonly Error[]) {
  let consumers = 0;
  const all: Listeners[] = [];
  const consumer = () => {
    const fault = faults[consumers++];
    const listeners = new Listeners();
    all.push(listeners);
    let running = false;
    return {
      events: { GROUP_JOIN: 'join', CRASH: 'crash', REQUEST: 'request', HEARTBEAT: 'heartbeat' },
      connect: async () => {},
      disconnect: async () => {},
      subscribe: async () => {},
      on: listeners.add,
      // kafkajs tells of a crash and lets `run` end well all the same.
      run: async () => {
        running = !fault;
        if (fault) listeners.tell('crash', { error: fault });
        else listeners.tell('join', { isLeader: true, leaderId: 'here' });
      },
      pause: () => {
        if (!running) throw new Error('Consumer group was not initialized');
      },
    };
  };
  const kafka = { consumer } as unknown as KafkaClient;
  return { kafka, consumers: () => consumers, latest: () => all.at(-1) ?? expect.fail('none') };
}

const loading = () =>
  Object.assign(new Error('The coordinator is loading'), { type: 'GROUP_LOAD_IN_PROGRESS' });

describe('a lease that the leader of a group holds', () => {
  it.each([
    ['says so', loading()],
    ['says so in the cause of an explanation', new Error('explained', { cause: loading() })],
  ])('is asked for again while the broker that keeps the group is not ready and %s', async (_, fault) => {
    const { kafka, consumers } = scriptedClient([fault, fault]);
    expect(await acquire(kafka)).toMatchObject({ signal: { aborted: false } });
    expect(consumers()).toBe(3);
  });

  it('is given up after twenty seconds in which no broker keeps its group, with the remedy', async () => {
    // As kafkajs tells of brokers that have no coordinator, without a type.
    const fault = Object.assign(new Error('Failed to find group coordinator'), {
      name: 'KafkaJSGroupCoordinatorNotFound',
    });
    const { kafka, consumers } = scriptedClient(Array.from({ length: 10 }, () => fault));
    let at = 0;
    const sleep = async () => {
      at += 10_000;
    };
    const by = { ...clock, now: () => at, sleep };
    await expect(acquire(kafka, signal, by)).rejects.toMatchObject({
      code: 'KAFKA_UNAVAILABLE',
      message: expect.stringContaining('(none of them is ready to coordinate the consumer group g)'),
      remedy: expect.stringContaining('__consumer_offsets'),
    });
    expect(consumers()).toBeGreaterThan(1);
  });

  it('is given up after two seconds where the brokers are not told of it', async () => {
    const { kafka } = scriptedClient([]);
    const { consumer } = kafka;
    kafka.consumer = (config) =>
      Object.assign(consumer(config), { disconnect: () => new Promise<void>(() => {}) });
    const time = manualClock();
    const lease = await acquireHeld(kafka, time);
    let hasEnded = false;
    const released = lease.release().then(() => {
      hasEnded = true;
    });
    await time.advance(1_999);
    expect(hasEnded).toBe(false);
    await time.advance(1);
    await released;
  });

  it('is left as soon where it cannot be had', async () => {
    const { kafka } = scriptedClient([new Error('refused')]);
    const { consumer } = kafka;
    kafka.consumer = (config) =>
      Object.assign(consumer(config), { disconnect: () => new Promise<void>(() => {}) });
    const time = manualClock();
    const refused = expect(acquire(kafka, signal, time)).rejects.toThrow('refused');
    await time.advance(2_000);
    await refused;
  });

  it('is asked for no more when the process stops meanwhile', async () => {
    const stopping = new AbortController();
    const { kafka, consumers } = scriptedClient(Array.from({ length: 10 }, loading));
    const { consumer } = kafka;
    kafka.consumer = (config) => {
      if (consumers() === 2) stopping.abort();
      return consumer(config);
    };
    await expect(acquire(kafka, stopping.signal)).rejects.toThrow('aborted');
    expect(consumers()).toBe(3);
  });

  it('is lost when the group was not heard of for its session, though the client goes on asking', async () => {
    const { kafka, latest } = scriptedClient([]);
    const time = manualClock();
    const held = await acquireHeld(kafka, time);
    await time.advance(9_000);
    latest().tell('request', { apiName: 'Heartbeat', duration: 0, createdAt: time.wall() });
    latest().tell('heartbeat', {});
    await time.advance(9_000);
    expect(held.signal.aborted).toBe(false);
    await time.advance(1_000);
    expect([held.signal.aborted, time.waiting()]).toEqual([true, 0]);
  });

  const JOINED = { isLeader: true, leaderId: 'here' };
  const heard = (listeners: Listeners, createdAt: number) => {
    listeners.tell('request', { apiName: 'Heartbeat', duration: 0, createdAt });
    listeners.tell('heartbeat', {});
  };

  it('is over when it is checked, before anything could tell so: this process was frozen', async () => {
    const { kafka } = scriptedClient([]);
    const time = manualClock();
    let frozenMs = 0;
    const held = await acquireHeld(kafka, { ...time, now: () => time.now() + frozenMs });
    frozenMs = 9_999;
    held.check();
    frozenMs = 10_000;
    expect(() => held.check()).toThrow();
    expect(held.signal.aborted).toBe(true);
  });

  it('is lost to a machine that was suspended, whose clock stood still', async () => {
    const { kafka, latest } = scriptedClient([]);
    const time = manualClock();
    let suspendedMs = 0;
    const held = await acquireHeld(kafka, { ...time, wall: () => time.wall() + suspendedMs });
    await time.advance(9_000);
    heard(latest(), time.wall());
    await time.advance(9_000);
    held.check();
    suspendedMs = 20_000;
    expect(() => held.check()).toThrow();
    expect(held.signal.aborted).toBe(true);
  });

  it('is lost when this process leads the group as another member, as others may have led it meanwhile', async () => {
    const { kafka, latest } = scriptedClient([]);
    const held = await acquireHeld(kafka);
    latest().tell('join', { ...JOINED, memberId: 'first' });
    expect(held.signal.aborted).toBe(false);
    latest().tell('join', { ...JOINED, memberId: 'second' });
    expect(held.signal.aborted).toBe(true);
  });

  it('fails with what ends its client, explained', async () => {
    const { kafka } = scriptedClient([new Error('Request GroupCoordinator timed out')]);
    const { consumer } = kafka;
    const explain = (cause: Error) => new Error('no answer in time', { cause });
    kafka.consumer = (config) => Object.assign(consumer(config), { explain });
    await expect(acquire(kafka)).rejects.toThrow('no answer in time');
  });

  it('fails with what the brokers refuse it for, and with nothing else', async () => {
    const refused = Object.assign(new Error('Not authorized'), { type: 'GROUP_AUTHORIZATION_FAILED' });
    const { kafka, consumers } = scriptedClient([refused]);
    await expect(acquire(kafka)).rejects.toMatchObject({ code: 'KAFKA_REFUSED', cause: refused });
    expect(consumers()).toBe(1);
  });
});
