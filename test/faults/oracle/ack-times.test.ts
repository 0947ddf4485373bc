import { expect, it } from 'vitest';
import { ackTimesOf } from './ack-times.ts';

const answer = (sentAt: number, tookMs: number, more: { spooled?: boolean; status?: number } = {}) => ({
  entity: 0,
  number: 0,
  sentAt,
  tookMs,
  status: 200,
  spooled: false,
  ...more,
});

it('tells acknowledgements of Kafka, of faults, and of the spool once it is in use', () => {
  const times = ackTimesOf(
    [
      answer(10, 3),
      answer(90, 5_000, { status: 503 }),
      // The switch: two that waited for Kafka first.
      answer(100, 2_000, { spooled: true }),
      answer(600, 1_510, { spooled: true }),
      answer(2_100, 4, { spooled: true }),
      answer(2_200, 9, { spooled: true }),
      // Behind the fault, while the spool is drained.
      answer(4_000, 6, { spooled: true }),
      answer(5_000, 2),
    ],
    [{ from: 100, to: 3_000 }],
  );
  expect(times).toEqual({
    calmP50: 3,
    calmP99: 3,
    faultP50: 1_510,
    faultP99: 2_000,
    spoolP50: 6,
    spoolP99: 9,
  });
});
