import type { Ports } from './plan-ports.ts';

/** One node: its ports, and the one that clients are told. */
export type NodePlan = {
  id: number;
  port: number;
  advertisedPort: number;
  /** Where the nodes talk to one another. It is never advertised otherwise, so it goes past any proxy. */
  internalPort: number;
  controllerPort: number;
};

export const planNodes = (ports: Ports, advertisedPorts: readonly number[] = ports.kafka): NodePlan[] =>
  ports.kafka.map((port, i) => ({
    id: i + 1,
    port,
    advertisedPort: advertisedPorts[i] ?? port,
    internalPort: ports.internal[i] as number,
    controllerPort: ports.controller[i] as number,
  }));

/** A listener beside the usual ones: how it speaks is told by Kafka's name for the protocol. */
export type Listener = {
  name: string;
  port: number;
  protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT';
  /** What clients are told instead of 127.0.0.1. */
  advertisedHost?: string;
};

export type PropertiesInput = {
  node: NodePlan;
  nodes: readonly NodePlan[];
  logDir: string;
  /** The address that clients' connections come in at, and the one that they are told. */
  listenHost: string;
  advertisedHost: string;
  /** Where all else listens. */
  loopback?: string | undefined;
  listeners?: readonly Listener[] | undefined;
  overrides?: Readonly<Record<string, string | number | boolean>> | undefined;
};

const MIB = 1024 * 1024;
/** A topic may set `max.message.bytes` up to 80 MiB; the rest is room for what goes round a record. */
const LARGEST_BATCH = 84 * MIB;

/** The `server.properties` of a node that is broker and controller at once. */
export function kafkaProperties({ node, nodes, ...input }: PropertiesInput): string {
  const copies = Math.min(3, nodes.length);
  const { listeners = [], loopback = '127.0.0.1' } = input;
  const further = (hostOf: (one: Listener) => string) =>
    listeners.map((one) => `${one.name}://${hostOf(one)}:${one.port}`);
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': node.id,
    // Static voters for one node as well as for three: one way to format, and a node's folder can be wiped and come back.
    'controller.quorum.voters': nodes.map((one) => `${one.id}@${loopback}:${one.controllerPort}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'INTERNAL',
    'listener.security.protocol.map': [
      'CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
      ...listeners.map(({ name, protocol }) => `${name}:${protocol}`),
    ].join(','),
    listeners: [
      `CLIENT://${input.listenHost}:${node.port}`,
      `INTERNAL://${loopback}:${node.internalPort}`,
      `CONTROLLER://${loopback}:${node.controllerPort}`,
      ...further(() => loopback),
    ].join(','),
    'advertised.listeners': [
      `CLIENT://${input.advertisedHost}:${node.advertisedPort}`,
      `INTERNAL://${loopback}:${node.internalPort}`,
      ...further(({ advertisedHost = loopback }) => advertisedHost),
    ].join(','),
    'log.dirs': input.logDir,
    'auto.create.topics.enable': false,
    'default.replication.factor': copies,
    'offsets.topic.replication.factor': copies,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': Math.min(2, copies),
    'transaction.state.log.num.partitions': 2,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': Math.min(2, copies),
    'group.initial.rebalance.delay.ms': 0,
    'replica.fetch.max.bytes': LARGEST_BATCH,
    'replica.fetch.response.max.bytes': LARGEST_BATCH,
    'fetch.max.bytes': LARGEST_BATCH,
    'socket.request.max.bytes': LARGEST_BATCH + 16 * MIB,
    ...input.overrides,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
