import { BlockList, isIP } from 'node:net';
import { Fault } from './env.ts';

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
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(plain);
    return family !== 0 && networks.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  };
}
