import { describe, expect, it, vi } from 'vitest';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { holdAlone } from '../../../src/kafka/consume/hold-alone.ts';

vi.mock('node:timers/promises', () => ({
  setTimeout: async (_ms: number, _value: unknown, options?: { signal?: AbortSignal }) =>
    options?.signal?.throwIfAborted(),
}));

type Listener = (event: { payload: unknown }) => void;

/** A client whose consumers meet these faults while they join, one after the other, and then lead their group. */
function scriptedClient(faults: readonly Error[]) {
  let consumers = 0;
  const consumer = () => {
    const fault = faults[consumers++];
    const listeners = new Map<string, Listener>();
    let running = false;
    return {
      events: { GROUP_JOIN: 'join', CRASH: 'crash' },
      ...{ connect: async () => {}, disconnect: async () => {}, subscribe: async () => {} },
      on: (event: string, listener: Listener) => listeners.set(event, listener),
      // kafkajs tells of a crash and lets `run` end well all the same.
      run: async () => {
        running = !fault;
        if (fault) listeners.get('crash')?.({ payload: { error: fault } });
        else listeners.get('join')?.({ payload: { isLeader: true, leaderId: 'here' } });
      },
      pause: () => {
        if (!running) throw new Error('Consumer group was not initialized');
      },
    };
  };
  const kafka = { consumer } as unknown as KafkaClient;
  return { kafka, consumers: () => consumers };
}

const loading = () =>
  Object.assign(new Error('The coordinator is loading'), { type: 'GROUP_LOAD_IN_PROGRESS' });

describe('what is held alone', () => {
  it.each([
    ['says so', loading()],
    ['says so in the cause of an explanation', new Error('explained', { cause: loading() })],
  ])('is asked for again while the broker that keeps the group is not ready and %s', async (_, fault) => {
    const { kafka, consumers } = scriptedClient([fault, fault]);
    const hold = await holdAlone({ kafka, groupId: 'g', topic: 't' });
    expect(hold).toMatchObject({ lost: { aborted: false } });
    expect(consumers()).toBe(3);
  });

  it('is asked for no more when the process stops meanwhile', async () => {
    const stopping = new AbortController();
    const { kafka, consumers } = scriptedClient(Array.from({ length: 10 }, loading));
    const { consumer } = kafka;
    kafka.consumer = (config) => {
      if (consumers() === 2) stopping.abort();
      return consumer(config);
    };
    await expect(holdAlone({ kafka, groupId: 'g', topic: 't', signal: stopping.signal })).rejects.toThrow(
      'aborted',
    );
    expect(consumers()).toBe(3);
  });

  it('fails with what the brokers refuse it for, and with nothing else', async () => {
    const refused = Object.assign(new Error('Not authorized'), { type: 'GROUP_AUTHORIZATION_FAILED' });
    const { kafka, consumers } = scriptedClient([refused]);
    await expect(holdAlone({ kafka, groupId: 'g', topic: 't' })).rejects.toBe(refused);
    expect(consumers()).toBe(1);
  });
});
