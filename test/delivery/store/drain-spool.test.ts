import { expect, it } from 'vitest';
import { drainSpool } from '../../../src/delivery/store/drain-spool.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { deliveryParts } from '../../support/delivery-parts.ts';
import { openFilledSpool, sealingKeysOf } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

/** So long a drain looks for more before it ends. */
const LONGER_MS = 800;

it('does not end while a row is in progress whose sealing key is taken away: the next drain would begin it once more', async () => {
  const spool = await openFilledSpool('{"type":"payment-status","entityId":"e","n":1}');
  const confirmed = Promise.withResolvers<void>();
  let sent = 0;
  let stored = 0;
  let hasEnded = false;
  const drained = drainSpool({
    spool,
    delivery: deliveryParts(),
    clock: systemClock,
    observer: { drainFailed() {} },
    stopping: new AbortController().signal,
    onDrained: (rows) => {
      stored += rows;
    },
    async send({ topic }) {
      sent++;
      await confirmed.promise;
      return { topic, partition: 0, offset: 0n };
    },
  }).finally(() => {
    hasEnded = true;
  });
  await until('the row is in progress', () => sent === 1);
  await spool.renewKeys(sealingKeysOf('b'));
  expect(spool.outstanding).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, LONGER_MS));
  expect([hasEnded, sent]).toEqual([false, 1]);
  confirmed.resolve();
  await drained;
  expect(stored).toBe(1);
});

it('ends at once with an error that it has not foreseen where nobody begins it again, as for hookline spool drain', async () => {
  const spool = await openFilledSpool('{"type":"payment-status","entityId":"e","n":1}');
  const confirmed = Promise.withResolvers<never>();
  let sent = 0;
  const drained = drainSpool({
    spool,
    delivery: deliveryParts(),
    clock: systemClock,
    observer: { drainFailed() {} },
    stopping: new AbortController().signal,
    onNearlyEmpty() {
      if (sent > 0) throw new TypeError('unforeseen');
    },
    send: () => {
      sent++;
      return confirmed.promise;
    },
  });
  await expect(drained).rejects.toThrow('unforeseen');
  expect(sent).toBe(1);
});
