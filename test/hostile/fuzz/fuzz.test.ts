import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { runFuzz } from './run-fuzz.ts';

it('every decoder bears whatever it gets', async () => {
  const seed = randomInt(2 ** 31);
  const rows = await runFuzz({ seed, cases: 10_000, log: () => {} });
  expect(rows.filter(({ failed }) => failed !== null)).toEqual([]);
  expect(rows.reduce((sum, { cases }) => sum + cases, 0)).toBeGreaterThanOrEqual(10_000);
}, 120_000);
