import { BlockList, isIP, SocketAddress } from 'node:net';
import { Fault, type Setting, setting } from './env.ts';

/** The setting of an address that a process listens on. As in a URL, one of IPv6 may be in brackets. */
export const listenAddress = (name: string, shape: { about: string; fallback: string }): Setting<string> =>
  setting(name, shape, withoutBrackets);

/** What the settings of such addresses say of their default. */
export const ALL_ADDRESSES =
  ':: means all addresses, of IPv4 and of IPv6 (of IPv4 alone on a machine without IPv6)';

/** An address, or a name, as it stands in a URL. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The same as sockets take it. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** An address or a network, checked; in the form address/bits. */
export function parseCidr(cidr: string): string {
  const [address = '', bits, ...rest] = cidr.split('/');
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  if (family === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)) || length > most) {
    throw new Fault(
      `has ${JSON.stringify(cidr)}: give addresses or CIDRs, such as 203.0.113.0/24 or 2001:db8::/32.`,
    );
  }
  return `${address}/${length}`;
}

/** On a socket of both families the address of an IPv4 peer is written as IPv6. */
const plainAddress = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** A forwarded address as some proxies write it, such as Azure's gateways: with a port, IPv6 in brackets (RFC 7239, 6). */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/;

const withoutPort = (address: string) => address.replace(WITH_PORT, '$1$2');

/** The network of addresses that are translated from IPv4, each of which is another host (RFC 6052). */
const TRANSLATED = '64:ff9b:0:0';

/** What an address counts as where addresses are counted: of IPv6 its /64, as one host may use all addresses of that (RFC 4291, 2.5.1). */
export function sourceOf(told: string): string {
  const address = withoutPort(told);
  if (isIP(address) !== 6) return address;
  const { address: written } = new SocketAddress({ address, family: 'ipv6' });
  const plain = plainAddress(written);
  if (plain !== written) return plain;
  const [before = [], after = []] = written
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const omitted = Array<string>(8 - before.length - after.length).fill('0');
  const network = [...before, ...omitted, ...after].slice(0, 4).join(':');
  return network === TRANSLATED ? written : network;
}

export type SourceFilter = (address: string) => boolean;

/** Whether an address is in one of these networks; an IPv4 address written as IPv6 counts as the IPv4 one. */
export function createSourceFilter(cidrs: readonly string[]): SourceFilter {
  if (cidrs.length === 0) return () => true;
  const networks = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    networks.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return (address) => {
    const plain = plainAddress(withoutPort(address));
    const family = isIP(plain);
    return family !== 0 && networks.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  };
}
