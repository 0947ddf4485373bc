import { randomInt } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import { attackControl } from './commands.ts';

it('no command stops control: each is answered or dead-lettered, and the next one succeeds', async () => {
  const stack = inject('stack');
  const rows = await attackControl({ stack, mutations: 1_000, seed: randomInt(2 ** 31), log: () => {} });
  expect(rows.filter(({ ok }) => !ok)).toEqual([]);
}, 300_000);
