import { expect, it } from 'vitest';
import { freePorts } from './plan-ports.ts';

it('never gives the same port twice, not even before anybody listens there', async () => {
  const drawn = [20_101, 20_101, 20_102, 20_102, 20_103];
  const draw = () => drawn.shift() ?? expect.fail('more were drawn');
  expect(await freePorts(2, [], draw)).toEqual([20_101, 20_102]);
  expect(await freePorts(1, [], draw)).toEqual([20_103]);
});
