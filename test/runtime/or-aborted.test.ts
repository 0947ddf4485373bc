import { expect, it } from 'vitest';
import { orAborted } from '../../src/runtime/or-aborted.ts';

const never = new Promise<never>(() => {});
const failing = () => Promise.reject(new Error('failed'));

it('gives what the work gives, and throws what it throws', async () => {
  const { signal } = new AbortController();
  expect(await orAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(orAborted(failing(), signal)).rejects.toThrow('failed');
});

it('does not wait for the work when the signal aborts, or has aborted', async () => {
  const stopping = new AbortController();
  const waiting = orAborted(never, stopping.signal);
  stopping.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await expect(orAborted(never, stopping.signal)).rejects.toThrow('stopped');
});

it('takes what is there already, whatever the signal says', async () => {
  expect(await orAborted(Promise.resolve(1), AbortSignal.abort())).toBe(1);
});
