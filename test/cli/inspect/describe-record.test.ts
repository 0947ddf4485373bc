import { expect, it } from 'vitest';
import { Undecodable } from '../../../src/avro/bounded-decode.ts';
import { describers } from '../../../src/cli/inspect/describe-record.ts';
import type { Mask } from '../../../src/cli/shell/mask.ts';

/** As with --reveal. */
const SHOWN: Mask = { value: (_, value) => value, entity: (_, entityId) => entityId };

const RESULT = {
  commandId: 'c-1',
  ref: 'a',
  status: 'SUCCEEDED',
  errorCode: null,
  message: 'created',
  attempts: 2,
};
const DRIFT = { ...RESULT, status: 'DRIFT', errorCode: 'SUBSCRIPTION_MISSING', message: 'gone', attempts: 1 };

it.each([
  [
    'a result, with its command',
    { ...RESULT, commandTopic: 'payments.commands', commandPartition: 3, commandOffset: 7 },
    'SUCCEEDED, created, 2 request(s), of payments.commands[3]@7, id c-1',
  ],
  [
    'drift, which is of no command',
    { ...DRIFT, commandTopic: '', commandPartition: -1, commandOffset: -1 },
    'DRIFT, SUBSCRIPTION_MISSING, gone, 1 request(s), id c-1',
  ],
  ['nothing of what is about another ref', { ...RESULT, ref: 'b', message: 'a' }, null],
])('describes %s', async (_, fields, expected) => {
  const { result } = describers(async () => fields, SHOWN);
  const value = Buffer.from(`\0${JSON.stringify(fields)}`);
  const record = { topic: 't', partition: 0, offset: 0n, key: null, value, headers: {}, timestamp: 0 };
  expect((await result(record, 'a'))?.what ?? null).toBe(expected);
});

it('describes a result that is too large to be read whole by the fields of its beginning', async () => {
  const { status, ref, commandId } = RESULT;
  const cause = new Undecodable(new Error('truncated'), { status, ref, commandId, subscriptions: [] });
  const { result } = describers(() => Promise.reject(new Error('unreadable', { cause })), SHOWN);
  const value = Buffer.from(`\0${JSON.stringify(RESULT)}`);
  const record = { topic: 't', partition: 0, offset: 0n, key: null, value, headers: {}, timestamp: 0 };
  expect((await result(record, 'a'))?.what).toBe('SUCCEEDED, id c-1');
});

it('describes a command whose fields are objects that cannot be converted to text', async () => {
  const { command } = describers(() => Promise.reject(new Error('no Avro')), SHOWN);
  const odd = { toString: null };
  const value = Buffer.from(JSON.stringify({ ref: 'a', type: 'x', issuedBy: odd, commandId: odd }));
  const record = { topic: 't', partition: 0, offset: 0n, key: null, value, headers: {}, timestamp: 0 };
  expect(await command(record, 'a')).toEqual({ step: 'command', what: 'x' });
});

it('shows of a megabyte in a command as much as a table shows in time', async () => {
  const { command } = describers(() => Promise.reject(new Error('no Avro')), SHOWN);
  const value = Buffer.from(JSON.stringify({ ref: 'a', type: 'x', issuedBy: '\n'.repeat(1_000_000) }));
  const record = { topic: 't', partition: 0, offset: 0n, key: null, value, headers: {}, timestamp: 0 };
  const { what = '' } = (await command(record, 'a')) ?? {};
  expect(what).toMatch(/^x, by \n+…$/);
  expect(what.length).toBeLessThan(2_020);
});
