import { expect, it } from 'vitest';
import { lanesOf } from '../../src/control/lanes-of.ts';
import { HooklineError } from '../../src/core/errors.ts';

const noAvro = () => Promise.reject(new HooklineError('REGISTRY_UNAVAILABLE'));
const lanes = (key: string | null, value: object | string | Buffer) =>
  lanesOf(
    {
      ...{ topic: 't', partition: 0, offset: 0n, headers: {}, timestamp: 0 },
      key: key === null ? null : Buffer.from(key),
      value: Buffer.isBuffer(value)
        ? value
        : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    },
    noAvro,
  );

it.each([
  [
    'of a ref under another key',
    'x',
    { commandId: 'c', type: 'subscription.delete', ref: 'a' },
    ['ref a', 'id c'],
  ],
  [
    'of a ref under no key',
    null,
    { commandId: 'c', type: 'subscription.delete', ref: 'a' },
    ['ref a', 'id c'],
  ],
  ['without a ref', 'a', { commandId: 'c', type: 'subscription.list' }, ['ref a', 'id c']],
  ['that is none', 'a', '{', ['ref a']],
  ['whose schema can not be asked for now', 'a', Buffer.from('0000000001', 'hex'), ['ref a']],
  ['without a key, a ref or an id', null, 'text', []],
])('a command %s', async (_, key, value, expected) => {
  expect(await lanes(key, value)).toEqual(expected);
});
