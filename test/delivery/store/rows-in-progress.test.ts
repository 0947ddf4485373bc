import { expect, it } from 'vitest';
import { RowsInProgress } from '../../../src/delivery/store/rows-in-progress.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const MIB = 1024 ** 2;

it('is busy while 32 MiB are in progress, and bytes that are given back twice count once', () => {
  const progress = new RowsInProgress(systemClock);
  const give = progress.hold(20 * MIB);
  progress.hold(12 * MIB);
  expect(progress.isBusy).toBe(true);
  give();
  give();
  expect(progress.isBusy).toBe(false);
  progress.hold(19 * MIB);
  expect(progress.isBusy).toBe(false);
  progress.hold(MIB);
  expect(progress.isBusy).toBe(true);
});
