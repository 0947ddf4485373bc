import { connect } from 'node:net';
import type { KafkaConfig } from 'kafkajs';

/** A host as it stands in a URL. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/**
 * What kafkajs is to be given to reach these brokers. It cuts addresses at the first colon: one such as [::1]:9092 gets a name, and
 * the connection goes to the address behind it.
 */
export function reaching(brokers: readonly string[]): Pick<KafkaConfig, 'brokers' | 'socketFactory'> {
  const named = brokers.map((broker, n) => {
    const [, host, port] = /^\[(.+)\]:(\d+)$/.exec(broker) ?? [];
    return host === undefined ? { broker } : { broker: `ipv6-${n}:${port}`, name: `ipv6-${n}`, host };
  });
  const given = named.map(({ broker }) => broker);
  const hosts = new Map(named.flatMap(({ name, host }) => (name && host ? [[name, host]] : [])));
  if (hosts.size === 0) return { brokers: given };
  return {
    brokers: given,
    socketFactory: ({ host, port, onConnect }) => connect({ host: hosts.get(host) ?? host, port }, onConnect),
  };
}
