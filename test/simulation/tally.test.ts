import { expect, it } from 'vitest';
import { progressOf } from './tally.ts';

it('a long run says once a minute how far it is', () => {
  const said: string[] = [];
  let now = 7;
  const tally = { schedules: 0, violations: 0 };
  const tell = progressOf(
    tally,
    (line) => said.push(line),
    () => now,
  );
  for (; now < 130_000; now += 1_000) {
    tell();
    tally.schedules += 100;
  }
  expect(said).toEqual(['1 min: 6000 schedules, 0 violations', '2 min: 12000 schedules, 0 violations']);
});
