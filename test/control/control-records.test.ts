import { expect, it } from 'vitest';
import { commandSchemasIn } from '../../src/avro/command-schemas.ts';
import { createControlRecords } from '../../src/control/control-records.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { leaseOf } from '../../src/core/lease.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { listResult } from '../support/list-result.ts';

/** The way to topics whose brokers fail as told, in turn. */
function open(...ends: Error[]) {
  const published: string[] = [];
  const stored: OutgoingRecord[] = [];
  const deadlines: number[] = [];
  const delays: unknown[] = [];
  const records = createControlRecords({
    publisher: {
      async publish(record, deadlineMs) {
        const { topic } = record;
        stored.push(record);
        published.push(topic);
        deadlines.push(deadlineMs);
        const end = ends.shift();
        if (end) throw end;
        return { topic, partition: 0, offset: 0n };
      },
    },
    clock: systemClock,
    prefix: 'payments',
    schemas: commandSchemasIn(undefined),
    ids: { of: () => 1 },
    sessionTimeoutMs: 10_000,
    onStored: () => {},
    onDelay: (topic) => delays.push(topic),
    onDeadLettered: () => {},
  });
  return { records, published, stored, deadlines, delays };
}

it('what could not be stored is tried again', async () => {
  const { records, published, delays } = open(new HooklineError('PUBLISH_DEADLINE'));
  await records.storeSubscription('a', null, { ...leaseOf(new AbortController().signal), epoch: 3 });
  expect(published).toEqual(['payments.subscriptions', 'payments.subscriptions']);
  expect(delays).toEqual(['payments.subscriptions']);
});

it('what its topic does not take is told to whoever can make it smaller, and waits where nobody can', async () => {
  const tooLarge = () => new HooklineError('RECORD_TOO_LARGE');
  const { records, published, delays } = open(tooLarge(), tooLarge());
  const lease = leaseOf(new AbortController().signal);
  await expect(records.storeResult(listResult(1), lease)).rejects.toMatchObject({
    code: 'RECORD_TOO_LARGE',
    message:
      'the record is larger than its topic takes (payments.command-results): raise its max.message.bytes',
  });
  expect(delays).toEqual([]);
  await records.storeResult(listResult(0), lease, { isSmallest: true });
  expect([published.length, delays]).toEqual([3, ['payments.command-results']]);
});

it('what was under way is given up when another may have taken the place of this process', async () => {
  const { records, deadlines } = open();
  await records.storeSubscription('a', null, { ...leaseOf(new AbortController().signal), epoch: 3 });
  expect(deadlines).toEqual([10_000]);
});

it('what is another’s by now is not stored, nor tried again', async () => {
  const { records, published, delays } = open(new HooklineError('PUBLISH_DEADLINE'));
  const over = new AbortController();
  let looks = 0;
  const lease = {
    epoch: 3,
    signal: over.signal,
    check() {
      if (++looks === 2) over.abort();
      over.signal.throwIfAborted();
    },
  };
  await expect(records.storeSubscription('a', null, lease)).rejects.toMatchObject({ name: 'AbortError' });
  expect([looks, published, delays]).toEqual([2, ['payments.subscriptions'], ['payments.subscriptions']]);
});

it('what is confirmed behind another claim does not count: the command is told', async () => {
  const { records, published } = open();
  const fenced = new HooklineError('STATE_FENCED', 'epoch 3');
  const lease = {
    ...leaseOf(new AbortController().signal),
    epoch: 3,
    check() {
      if (published.length > 0) throw fenced;
    },
  };
  await expect(records.storeSubscription('a', null, lease)).rejects.toBe(fenced);
});

it('a dead-letter record that fits in no form waits until its topic takes it', async () => {
  const tooLarge = () => new HooklineError('RECORD_TOO_LARGE');
  const { records, stored, delays } = open(tooLarge(), tooLarge());
  const command = { topic: 't', partition: 0, offset: 1n, headers: {}, timestamp: 1, key: null, value: null };
  const why = { reason: new HooklineError('COMMAND_INVALID'), commandId: null };
  await records.storeDeadLetter(command, why, leaseOf(new AbortController().signal));
  expect([stored.length, delays]).toEqual([3, ['payments.dead-letter']]);
});

it('a command that does not fit in the dead-letter topic leaves one without its bytes, which says where they are', async () => {
  const { records, stored } = open(new HooklineError('RECORD_TOO_LARGE'));
  const command = {
    topic: 'payments.commands',
    partition: 2,
    offset: 7n,
    headers: {},
    timestamp: 1_234,
    key: Buffer.alloc(1_000),
    value: Buffer.alloc(2_000),
  };
  const why = { reason: new HooklineError('COMMAND_INVALID', 'x'.repeat(1_000_000)), commandId: 'c-1' };
  await records.storeDeadLetter(command, why, leaseOf(new AbortController().signal));
  const told = stored.map(({ key, value, headers }) => [key.length, value?.length, textOf(headers)]);
  expect(told).toEqual([
    [1_000, 2_000, expect.stringMatching(/^[^(]* \(x+…$/)],
    [21, 0, expect.stringContaining('(its 2000 bytes do not fit here: read them at payments.commands-2-7)')],
  ]);
  expect(stored.map(({ headers }) => textOf(headers).length < 3_000)).toEqual([true, true]);
  // By which a command of a topic that was created anew is told from the one at the same position before.
  expect(stored.map(({ headers }) => textOf(headers, 'received-at'))).toEqual(['1234', '1234']);
});

const textOf = (headers: OutgoingRecord['headers'], what = 'exception.message') =>
  String([...headers].find(([name]) => name.includes(what))?.[1]);
