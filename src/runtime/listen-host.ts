import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * The address to listen on where the setting says `host`. On `::` a socket takes connections of IPv6 and of IPv4; where the machine
 * has no IPv6 there is no such address, and 0.0.0.0 takes its place.
 */
export async function hostToListenOn(host: string, all = allAddresses): Promise<string> {
  return host === '::' ? all() : host;
}

/** Node finds out where it is given no host. Fastify, and sockets that share a port, must be given one. */
async function allAddresses(): Promise<string> {
  const probe = createServer((socket) => socket.destroy()).listen(0);
  await once(probe, 'listening');
  const { address } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return address;
}
