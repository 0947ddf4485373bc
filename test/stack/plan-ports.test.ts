import { afterEach, expect, it, vi } from 'vitest';

vi.mock('node:crypto', () => ({ randomInt: () => drawn.shift() }));

const drawn: number[] = [];
const { freePorts } = await import('./plan-ports.ts');

afterEach(() => drawn.splice(0));

it('never gives the same port twice, not even before anybody listens there', async () => {
  drawn.push(20_101, 20_101, 20_102);
  expect(await freePorts(2)).toEqual([20_101, 20_102]);
  drawn.push(20_102, 20_103);
  expect(await freePorts(1)).toEqual([20_103]);
});
