import { expect, it } from 'vitest';
import { observeControl } from '../../src/control/observe-control.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';

it('counts comparisons with the provider that fail, until one does not', async () => {
  const metrics = createMetrics({ ofNode: false });
  const { reconciler } = observeControl({ logger: capturedLog().logger, metrics });
  const failed = async () =>
    (await metrics.registry.getSingleMetric('hookline_comparisons_failed')?.get())?.values.map(
      ({ value }) => value,
    );
  expect(await failed()).toEqual([0]);
  for (let n = 0; n < 3; n++) reconciler.onFailure(new Error('the list is empty'));
  expect(await failed()).toEqual([3]);
  reconciler.onCompared([]);
  expect(await failed()).toEqual([0]);
  reconciler.onFailure(new Error('the list is empty'));
  reconciler.onStandby();
  expect(await failed()).toEqual([0]);
});
