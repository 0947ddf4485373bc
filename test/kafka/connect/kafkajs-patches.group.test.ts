import '../../../src/kafka/connect/client-patches.ts';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
type Prototyped = { readonly prototype: object };
const Runner = require('kafkajs/src/consumer/runner.js') as Prototyped;
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup.js') as Prototyped;

describe('a commit', () => {
  type Runner = { commitOffsets(offsets: object): Promise<void> };
  const open = (running: boolean) => {
    const seen: object[] = [];
    const consumerGroup = {
      async commitOffsets(offsets: object) {
        seen.push(offsets);
        throw new Error('refused');
      },
    };
    // What there is of a consumer's parts that a commit passes.
    const runner = Object.assign(Object.create(Runner.prototype), {
      running,
      consumerGroup,
      retrier: expect.fail,
      logger: { debug() {} },
    }) as Runner;
    return { runner, seen };
  };

  it('is tried once, as what the member is then', async () => {
    const { runner, seen } = open(true);
    const offsets = { topics: [] };
    await expect(runner.commitOffsets(offsets)).rejects.toThrow('refused');
    expect(seen).toEqual([offsets]);
  });

  it('fails while the member joins', async () => {
    const { runner, seen } = open(false);
    await expect(runner.commitOffsets({})).rejects.toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
    expect(seen).toEqual([]);
  });
});

it('a consumer that has stopped does not fetch: a fetch that ends at once would be followed by the next for ever', async () => {
  const stopped = Object.assign(Object.create(Runner.prototype), {
    running: false,
    logger: { debug() {} },
    consumerGroup: {},
  }) as { fetch(nodeId: number): Promise<unknown> };
  // One that is tried again by the consumer, which then sees that it has stopped.
  await expect(stopped.fetch(1)).rejects.toMatchObject({ name: 'KafkaJSError', retriable: true });
});

describe('a heartbeat', () => {
  type Group = { heartbeat(options: { interval: number }): Promise<void> };
  const member = (fields: object) => {
    const group = new (ConsumerGroup as unknown as new (options: object) => Group)({
      logger: { namespace: () => ({}) },
    });
    // Just heard of: no request is due.
    return Object.assign(group, { lastRequest: Date.now(), ...fields });
  };

  it.each([
    ['of no member', { memberId: null, generationId: 1 }, 'UNKNOWN_MEMBER_ID'],
    [
      'of a member that was not told what it is given in this generation',
      { memberId: 'm', generationId: 2, offsetManager: { generationId: 1 } },
      'REBALANCE_IN_PROGRESS',
    ],
  ])('%s fails, so that it joins again', async (_, fields, type) => {
    await expect(member(fields).heartbeat({ interval: 3_000 })).rejects.toMatchObject({ type });
  });

  it.each([
    ['that has joined', { memberId: 'm', generationId: 2, offsetManager: { generationId: 2 } }],
    ['that was never given anything', { memberId: 'm', generationId: 1, offsetManager: null }],
  ])('of a member %s does not', async (_, fields) => {
    await expect(member(fields).heartbeat({ interval: 3_000 })).resolves.toBeUndefined();
  });
});

it('a member says that it leaves before it does', async () => {
  const told: string[] = [];
  const group = Object.assign(Object.create(ConsumerGroup.prototype), {
    groupId: 'g',
    memberId: 'm',
    instrumentationEmitter: { emit: (event: string) => void told.push(event) },
    coordinator: { leaveGroup: async () => void told.push('leaves') },
  }) as { leave(): Promise<void> };
  await group.leave();
  expect(told).toEqual(['consumer.stop', 'leaves']);
});

/** A member of a group, and the errors that meet its next requests for what it is given. */
function join() {
  const told: string[] = [];
  const refusals: (Error | undefined)[] = [];
  const generations = { latest: 0, begins: true };
  const coordinator = {
    async joinGroup() {
      if (generations.begins) generations.latest++;
      return { generationId: generations.latest, leaderId: 'l', memberId: 'm', members: [] };
    },
    async syncGroup() {
      await new Promise(setImmediate);
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      return { memberAssignment: Buffer.alloc(0) };
    },
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const group = new (ConsumerGroup as unknown as new (options: object) => Joining)({
    groupId: 'g',
    topics: [],
    topicConfigurations: {},
    assigners: [],
    logger: { namespace: () => log },
    retry: { retries: 3, initialRetryTime: 1 },
    instrumentationEmitter: { emit: (event: string) => void told.push(event) },
    cluster: { findGroupCoordinator: async () => coordinator, committedOffsets: () => ({}) },
  });
  return { group, told, refusals, generations };
}
type Joining = { joinAndSync(): Promise<void>; heartbeat(options: { interval: number }): Promise<void> };

describe('a member that joins again', () => {
  it('says nothing but that where it knows who was given the partitions before', async () => {
    const { group, told } = join();
    await group.joinAndSync();
    await group.joinAndSync();
    expect(told).toEqual(['consumer.group_join', 'consumer.group_join']);
  });

  it('says nothing but that where it is told of the same generation, as it does not lead the group', async () => {
    const { group, told, generations } = join();
    await group.joinAndSync();
    generations.begins = false;
    await group.joinAndSync();
    expect(told).toEqual(['consumer.group_join', 'consumer.group_join']);
  });

  it('does so once where several brokers make it join, and its heartbeats wait for it', async () => {
    const { group, told, generations } = join();
    await group.joinAndSync();
    const joins = [group.joinAndSync(), group.joinAndSync(), group.joinAndSync()];
    // When it knows its generation, and not yet what it is given.
    await new Promise(process.nextTick);
    await Promise.all([...joins, group.heartbeat({ interval: 3_000 })]);
    expect([generations.latest, told]).toEqual([2, ['consumer.group_join', 'consumer.group_join']]);
    await group.joinAndSync();
    expect(told.slice(2)).toEqual(['consumer.group_join']);
  });

  it.each([
    ['the client itself joins again', 'REBALANCE_IN_PROGRESS'],
    ['it is told to', 'UNKNOWN_SERVER_ERROR'],
  ])('says that it had left before where it has missed a generation, and %s', async (_, type) => {
    const { group, told, refusals } = join();
    await group.joinAndSync();
    refusals.push(Object.assign(new Error(type), { type, retriable: false, name: 'KafkaJSProtocolError' }));
    await group.joinAndSync().catch(() => group.joinAndSync());
    expect(told).toEqual(['consumer.group_join', 'consumer.stop', 'consumer.group_join']);
    await group.joinAndSync();
    expect(told.slice(3)).toEqual(['consumer.group_join']);
  });
});
