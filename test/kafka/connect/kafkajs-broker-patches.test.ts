import '../../../src/kafka/connect/client-patches.ts';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
type Prototyped = { readonly prototype: object };
const Broker = require('kafkajs/src/broker/index.js') as Prototyped;
const BrokerPool = require('kafkajs/src/cluster/brokerPool.js') as Prototyped;
const { parse } = require('kafkajs/src/protocol/requests/metadata/v6/response.js') as { parse: unknown };

describe('what coordinates a group', () => {
  type Pool = { withBroker<T>(ask: () => Promise<T>): Promise<T | null> };
  const pool = Object.assign(Object.create(BrokerPool.prototype), {
    brokers: { 1: {}, 2: {} },
    findBroker: async () => ({}),
  }) as Pool;
  const failing = (type: string) => async () => {
    throw Object.assign(new Error('no'), { type });
  };

  it('is not told to a user without a right to the group: that is said', async () => {
    await expect(pool.withBroker(failing('GROUP_AUTHORIZATION_FAILED'))).rejects.toMatchObject({
      type: 'GROUP_AUTHORIZATION_FAILED',
    });
  });

  it('is not told by brokers that do not answer in time: that is said, not that none does', async () => {
    const silent = Object.assign(new Error('Request GroupCoordinator timed out'), {
      name: 'KafkaJSRequestTimeoutError',
    });
    await expect(pool.withBroker(() => Promise.reject(silent))).rejects.toBe(silent);
  });

  it('is a right that is missing, whichever broker says so and whichever does not answer', async () => {
    const denied = Object.assign(new Error('no'), { type: 'GROUP_AUTHORIZATION_FAILED' });
    const silent = new Error('Request GroupCoordinator timed out');
    for (const answers of [
      [denied, silent],
      [silent, denied],
    ])
      await expect(pool.withBroker(() => Promise.reject(answers.shift()))).rejects.toBe(denied);
  });

  it('may be told by another broker than the first one that is asked', async () => {
    expect(await pool.withBroker(failing('REQUEST_TIMED_OUT'))).toBeNull();
    let asked = 0;
    const second = async () => (asked++ === 0 ? failing('GROUP_AUTHORIZATION_FAILED')() : 'broker 2');
    expect(await pool.withBroker(second)).toBe('broker 2');
  });
});

describe('a broker that tells of a partition without a leader', () => {
  type Broker = { metadata(topics?: string[]): Promise<unknown> };
  const LEADER_NOT_AVAILABLE = 5;
  const answer = {
    topicMetadata: [
      { topicErrorCode: 0, topic: 't', partitionMetadata: [{ partitionErrorCode: LEADER_NOT_AVAILABLE }] },
    ],
  };
  type Sent = { readonly response: { parse(answer: object): Promise<unknown> } };
  const broker = Object.assign(Object.create(Broker.prototype), {
    lookupRequest: () => () => ({ request: {}, response: { parse } }),
    connectionPool: { send: ({ response }: Sent) => response.parse(answer) },
  }) as Broker;

  it('is believed where all topics are asked for, whose topic it is of', async () => {
    expect(await broker.metadata()).toBe(answer);
    expect(await broker.metadata([])).toBe(answer);
  });

  it('is asked again where it was asked for that topic', async () => {
    await expect(broker.metadata(['t'])).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
  });
});
