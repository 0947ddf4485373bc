import { describe, expect, it } from 'vitest';
import { createCommandReader, keysOf } from '../../src/control/read-command.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { KeyedQueue } from '../../src/kafka/consume/keyed-queue.ts';
import { PartitionWork } from '../../src/kafka/consume/partition-work.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { create, openControlHarness } from '../support/control-harness.ts';
import { until } from '../support/until.ts';

const reader = createCommandReader(() => Promise.reject(new HooklineError('REGISTRY_UNAVAILABLE')));
const keys = (key: string | null, value: object | string | Buffer) =>
  keysOf(
    {
      topic: 't',
      partition: 0,
      offset: 0n,
      headers: {},
      timestamp: 0,
      key: key === null ? null : Buffer.from(key),
      value: Buffer.isBuffer(value)
        ? value
        : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    },
    reader,
  );

it.each([
  [
    'of a ref under another key',
    'x',
    { commandId: 'c', type: 'subscription.delete', ref: 'a' },
    ['ref a', 'key t a', 'id c'],
  ],
  [
    'of a ref under no key',
    null,
    { commandId: 'c', type: 'subscription.delete', ref: 'a' },
    ['ref a', 'key t a', 'id c'],
  ],
  ['without a ref', 'a', { commandId: 'c', type: 'subscription.list' }, ['key t a', 'id c']],
  ['that is none', 'a', '{', ['key t a']],
  ['without a key, a ref or an id', null, 'text', []],
])('a command %s', async (_, key, value, expected) => {
  expect(await keys(key, value)).toEqual(expected);
});

it('a command whose schema can not be asked for now has none that could be told', async () => {
  const unread = keys('a', Buffer.from('0000000001', 'hex'));
  await expect(unread).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
});

const CREATE = { commandId: 'c', ...create('a') };

describe('two commands in two partitions that come at once are carried out one after the other:', () => {
  it.each([
    ['the same one twice', CREATE, 'SUCCEEDED', 'DUPLICATE COMMAND_DUPLICATE', 1],
    [
      'one of the same id for another ref',
      { ...CREATE, ref: 'b' },
      'SUCCEEDED',
      'DUPLICATE COMMAND_DUPLICATE',
      1,
    ],
    ['another one of the same ref', { ...CREATE, commandId: 'd' }, 'SUCCEEDED', 'REJECTED REF_IN_USE', 1],
    ['another one of another ref', { ...CREATE, commandId: 'd', ref: 'b' }, 'SUCCEEDED', 'SUCCEEDED', 2],
  ])('%s', async (_, second, ...expected) => {
    await using harness = await openControlHarness();
    const queue = new KeyedQueue(32, []);
    for (const [partition, command] of [CREATE, second].entries()) {
      const work = new PartitionWork({
        queue,
        clock: systemClock,
        handle: harness.take,
        checkLease: () => {},
        leftMs: () => 1_000,
        onError: expect.fail,
        onCapacity: () => {},
        keysOf: (one) => keysOf(one, reader),
        commit: async () => {},
      });
      const record = { ...harness.recordOf(command), partition, key: Buffer.from(`key ${partition}`) };
      work.take(record);
    }
    await until('both have their result', () => harness.results.length === 2);
    const ended = harness.results.map(({ status, errorCode }) =>
      [status, errorCode].filter(Boolean).join(' '),
    );
    expect([...ended, (await harness.subscriptions()).length]).toEqual(expected);
  });
});
