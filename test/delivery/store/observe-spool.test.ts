import { expect, it } from 'vitest';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import { keepDraining } from '../../../src/delivery/store/keep-draining.ts';
import { observeSpool } from '../../../src/delivery/store/observe-spool.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { deliveryParts } from '../../support/delivery-parts.ts';
import { openFilledSpool } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

const message = (entityId: string) => JSON.stringify({ type: 'payment-status', entityId });

/** What a drain reads at once, and removes when all of it is stored. */
const BATCH = 500;

it('counts what is drained while the drain goes on, and not at its end alone', async () => {
  const early = Array.from({ length: BATCH }, (_, n) => message(`e-${n}`));
  const spool = await openFilledSpool(...early, message('last'));
  const metrics = createMetrics();
  const observer = observeSpool({ logger: capturedLog().logger, metrics, spool, clock: systemClock });
  const counted = async () => {
    const metric = await metrics.registry.getSingleMetric('hookline_spool_drained_total')?.get();
    return metric?.values[0]?.value;
  };
  const confirmed = Promise.withResolvers<void>();
  const drain = keepDraining({
    spool,
    delivery: deliveryParts(),
    stopping: new AbortController().signal,
    clock: systemClock,
    observer,
    async send({ topic, key }: OutgoingRecord) {
      if (String(key) === 'last') await confirmed.promise;
      return { topic, partition: 0, offset: 0n };
    },
  });
  await until('those before the last one are counted', async () => (await counted()) === BATCH);
  expect(spool.outstanding).toBe(1);
  confirmed.resolve();
  observer.drained(await drain, 1);
  expect(await counted()).toBe(BATCH + 1);
  observer.stop();
});
