import { expect, it } from 'vitest';
import { askAgain } from '../../src/object-store/ask-again.ts';
import { ObjectStoreFault } from '../../src/object-store/object-store.ts';
import { manualClock } from '../support/manual-clock.ts';

const NEVER = new AbortController().signal;
const slowDown = () => Promise.reject(new ObjectStoreFault('unavailable', '503: SlowDown'));

it('asks again while the store is unavailable, after growing pauses', async () => {
  const clock = manualClock();
  const at: number[] = [];
  const answer = askAgain(
    () => (at.push(clock.now()) < 6 ? slowDown() : Promise.resolve('a page')),
    NEVER,
    clock,
  );
  await clock.advance(10_000);
  expect(await answer).toBe('a page');
  expect(at).toEqual([0, 200, 600, 1_400, 3_000, 5_000]);
  expect(clock.waiting()).toBe(0);
});

it('gives up after 30 s, with the last reason', async () => {
  const clock = manualClock();
  const failed = askAgain(slowDown, NEVER, clock).catch((error) => error);
  await clock.advance(30_000);
  expect(await failed).toMatchObject({ kind: 'unavailable', message: '503: SlowDown' });
});

it('gives up after 30 s what is never answered', async () => {
  const clock = manualClock();
  const silent = (signal: AbortSignal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const failed = askAgain(silent, NEVER, clock).catch((error) => error);
  await clock.advance(30_000);
  expect(await failed).toMatchObject({ kind: 'unavailable', message: 'no answer within 30 s' });
});

it('does not ask again what was refused, nor after an abort', async () => {
  let asked = 0;
  const denied = () => {
    asked++;
    return Promise.reject(new ObjectStoreFault('refused', '403: AccessDenied'));
  };
  await expect(askAgain(denied, NEVER, manualClock())).rejects.toMatchObject({ kind: 'refused' });
  expect(asked).toBe(1);
  const stop = new AbortController();
  const clock = manualClock();
  const failed = askAgain(slowDown, stop.signal, clock).catch((error) => error);
  await clock.advance(100);
  stop.abort(new Error('Ctrl-C'));
  expect(await failed).toMatchObject({ message: 'Ctrl-C' });
});
