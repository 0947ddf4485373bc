import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Pacer } from '../../../src/ingress/bodies/pacer.ts';

const PIECE = 64 * 1024;

it('lets 256 KiB through in a turn, whoever reads them, and the next ones in the next, in their order', async () => {
  const pacer = new Pacer();
  const order: number[] = [];
  const ask = (n: number) => pacer.take(PIECE, () => order.push(n));
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map(ask)).toEqual([true, true, true, ...Array(6).fill(false)]);
  expect(order).toEqual([]);
  await turn();
  expect(order).toEqual([4, 5, 6, 7]);
  await turn();
  expect(order).toEqual([4, 5, 6, 7, 8, 9]);
  expect(ask(1)).toBe(true);
});
