import { expect, it } from 'vitest';
import { watchLimits } from '../../src/delivery/open-delivery.ts';
import { manualClock } from '../support/manual-clock.ts';

it('asks for the limits of the topics again every minute', async () => {
  const clock = manualClock();
  let asked = 0;
  const limits = { of: () => 0, renew: async () => void asked++ };
  await watchLimits(limits, clock);
  expect(asked).toBe(1);
  await clock.advance(59_000);
  expect(asked).toBe(1);
  await clock.advance(61_000);
  expect(asked).toBe(3);
});
