import { expect, it } from 'vitest';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import { keepDraining } from '../../../src/delivery/store/keep-draining.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { deliveryParts } from '../../support/delivery-parts.ts';
import { openFilledSpool } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

const MESSAGE = '{"type":"payment-status","entityId":"e","n":1}';
/** Long enough for a drain to begin again. */
const LONGER_MS = 300;
const UNFORESEEN = new TypeError('unforeseen');

/** It waits a millisecond only. */
const impatient: Clock = { ...systemClock, sleep: (_ms, options) => systemClock.sleep(1, options) };

/** A drain that fails for the first time while its row is with the brokers, which confirm it when they are told to. */
async function failWhileInProgress() {
  const spool = await openFilledSpool(MESSAGE);
  const confirmed = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const seen = { sent: 0, broken: [] as unknown[] };
  let hasFailed = false;
  const ports = {
    spool,
    delivery: deliveryParts(),
    stopping: stopping.signal,
    clock: impatient,
    observer: {
      drainFailed: (error: unknown) => expect.fail(`${error}`),
      drainBroken: (error: unknown) => void seen.broken.push(error),
    },
    onNearlyEmpty() {
      if (seen.sent === 0 || hasFailed) return;
      hasFailed = true;
      throw UNFORESEEN;
    },
    async send({ topic }: OutgoingRecord) {
      seen.sent++;
      await confirmed.promise;
      return { topic, partition: 0, offset: 0n };
    },
  };
  const drained = keepDraining(ports);
  await until('it has failed', () => hasFailed);
  return { spool, confirmed, stopping, seen, drained };
}

it('begins again after an error that the drain has not foreseen, when no row of it is in progress any more', async () => {
  const { spool, confirmed, seen, drained } = await failWhileInProgress();
  await systemClock.sleep(LONGER_MS);
  // It is told at once: the row may take long.
  expect(seen).toEqual({ sent: 1, broken: [UNFORESEEN] });
  confirmed.resolve();
  expect([await drained, spool.outstanding]).toEqual([1, 0]);
  expect(seen).toEqual({ sent: 1, broken: [UNFORESEEN] });
});

it('ends with the process, although a row is in progress and a drain has failed', async () => {
  const { stopping, seen, drained } = await failWhileInProgress();
  stopping.abort(new Error('stopping'));
  await expect(drained).rejects.toThrow('stopping');
  expect(seen).toEqual({ sent: 1, broken: [UNFORESEEN] });
});

it('drains what an earlier drain has left', async () => {
  const spool = await openFilledSpool(MESSAGE);
  const broken: unknown[] = [];
  const ports = {
    spool,
    delivery: deliveryParts(),
    stopping: new AbortController().signal,
    clock: impatient,
    observer: {
      drainFailed: (error: unknown) => expect.fail(`${error}`),
      drainBroken: (error: unknown) => void broken.push(error),
    },
    onNearlyEmpty() {
      if (broken.length < 2) throw UNFORESEEN;
    },
    send: async ({ topic }: OutgoingRecord) => ({ topic, partition: 0, offset: 0n }),
  };
  expect(await keepDraining(ports)).toBe(1);
  expect(broken).toEqual([UNFORESEEN, UNFORESEEN]);
});
