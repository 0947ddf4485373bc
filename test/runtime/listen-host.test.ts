import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { hostToListenOn } from '../../src/runtime/listen-host.ts';
import { hasIpv6, NEEDS_IPV6 } from '../support/ip-families.ts';

/** Where clients of both families reach a server that listens on the address. */
async function reachedAt(host: string): Promise<string[]> {
  const server = createServer((socket) => socket.end()).listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const reached = await Promise.all(
    ['127.0.0.1', '::1'].map(async (address) => {
      const socket = connect(port, address).resume();
      return once(socket, 'close').then(
        () => [address],
        () => [],
      );
    }),
  );
  await once(server.close(), 'close');
  return reached.flat();
}

it.skipIf(!hasIpv6)(`:: is listened on for IPv4 and for IPv6${NEEDS_IPV6}`, async () => {
  expect(await hostToListenOn('::')).toBe('::');
  expect(await reachedAt(await hostToListenOn('::'))).toEqual(['127.0.0.1', '::1']);
});

it(':: is 0.0.0.0 on a machine without IPv6', async () => {
  // As Node says where it is given no host.
  expect(await hostToListenOn('::', async () => '0.0.0.0')).toBe('0.0.0.0');
});

it('an address of the settings stands', async () => {
  for (const host of ['0.0.0.0', '::1', '127.0.0.1', 'localhost'])
    expect(await hostToListenOn(host, () => expect.fail('nothing is tried'))).toBe(host);
});
