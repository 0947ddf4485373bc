import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { hostAddress } from './host-address.ts';

it('a node that is this machine reaches it at its own address', async () => {
  const own = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  for (const { family, address } of own.filter((one) => one.family === 'IPv4'))
    expect(await hostAddress(address), family).toBe(address);
});
