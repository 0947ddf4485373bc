/** Addresses of brokers, as host:port. */

import { Fault } from '../../config/env.ts';
import { withoutBrackets } from '../../config/networks.ts';

/** One of KAFKA_BROKERS. An IPv6 address comes out as the clients tell of it when they cannot reach it. */
export function parseBroker(broker: string, whole: string): string {
  const [, given = '', port] = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/.exec(broker) ?? [];
  const host = given.startsWith('[') ? URL.parse(`http://${given}`)?.hostname : given;
  if (!host || !(Number(port) >= 1 && Number(port) <= 65_535)) {
    // What stands before an @ may be a password, with commas of its own.
    const shown = whole.includes('@') ? whole.replace(/^.*@/s, '…@') : broker;
    throw new Fault(
      `has ${JSON.stringify(shown)}: give host:port, an IPv6 address in brackets, such as [2001:db8::1]:9092.`,
    );
  }
  return `${host}:${port}`;
}

/** The host, an IPv6 address without its brackets. */
export const hostOf = (broker: string): string => withoutBrackets(broker.slice(0, broker.lastIndexOf(':')));

/** kafkajs takes what is behind the first colon for the port: it is given an IPv6 address as this name, which Windows has for it too. */
const LITERAL = '.ipv6-literal.net';

export function withoutColons(broker: string): string {
  const host = hostOf(broker);
  return host.includes(':')
    ? `${host.replaceAll(':', '-')}${LITERAL}${broker.slice(broker.lastIndexOf(':'))}`
    : broker;
}

/** The host that kafkajs wants to connect to, or says that it has not reached. */
export const withColons = (host: string): string =>
  host.endsWith(LITERAL) ? host.slice(0, -LITERAL.length).replaceAll('-', ':') : host;
