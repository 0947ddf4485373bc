import { join } from 'node:path';
import type { ScramUser } from './kafka-jvm.ts';
import { createKafkaNode, type KafkaNode } from './kafka-node.ts';
import { kafkaProperties, type Listener, planNodes } from './kafka-properties.ts';
import type { Ports } from './plan-ports.ts';
import { bracketed } from './reach-brokers.ts';
import type { Supervisor } from './supervise.ts';

export type KafkaOptions = {
  /** Broker properties that are added to ours or replace them, the same for each node. */
  properties?: Readonly<Record<string, string | number | boolean>>;
  /** Further listeners of a cluster of one node, each on a port of its own. Their keys and users come as properties. */
  listeners?: readonly Listener[];
  /** Users that the cluster knows from its beginning. */
  scramUsers?: readonly ScramUser[];
  /** The ports that clients are told, node by node, where a proxy stands in front of the brokers. JVM only. */
  advertisedPorts?: readonly number[];
  /** An address of this machine that clients come in at, where not all of them are on it. JVM only. */
  host?: string;
  /** The heap of each node in MiB. */
  heapMb?: number;
  /** Of the brokers' JVM, by their name. */
  systemProperties?: Readonly<Record<string, string>>;
};

export type KafkaCluster = {
  readonly nodes: readonly KafkaNode[];
  /** What clients connect to: the advertised addresses. */
  readonly brokers: string[];
  /** The nodes' own listeners, which lead past any proxy. */
  readonly directBrokers: string[];
  /** Waits until every node that runs answers and knows of all that run. */
  waitReady(options?: { deadlineMs?: number; signal?: AbortSignal }): Promise<void>;
};

export type ClusterInput = KafkaOptions & {
  supervisor: Supervisor;
  java: string;
  /** The folder of Kafka's jars. */
  jars: string;
  /** See class-archive.ts. */
  classArchive: string | null;
  /** Further arguments of each broker's JVM. */
  jvmArgs: readonly string[];
  runDir: string;
  loopback?: string | undefined;
  ports: Ports;
  signal: AbortSignal;
};

/** On a machine that others saturate a JVM starts ten times slower. */
const READY_MS = 180_000;

/** Starts a KRaft cluster of plain JVMs, each broker and controller at once, and waits until it answers as a whole. */
export async function startKafkaCluster(input: ClusterInput): Promise<KafkaCluster> {
  const plans = planNodes(input.ports, input.advertisedPorts);
  const loopback = bracketed(input.loopback ?? '127.0.0.1');
  const { host = loopback } = input;
  const defined = Object.entries(input.systemProperties ?? {}).map(([name, value]) => `-D${name}=${value}`);
  const nodes = plans.map((plan) => {
    const folder = join(input.runDir, `kafka-${plan.id}`);
    const properties = kafkaProperties({
      node: plan,
      nodes: plans,
      logDir: join(folder, 'data'),
      listenHost: host,
      advertisedHost: host,
      loopback,
      listeners: input.listeners,
      overrides: input.properties,
    });
    const { supervisor, java, heapMb, scramUsers, classArchive, jvmArgs } = input;
    return createKafkaNode({
      supervisor,
      java,
      heapMb,
      scramUsers,
      classArchive,
      jvmArgs: [...jvmArgs, ...defined],
      plan,
      loopback,
      folder,
      properties,
      classpath: join(input.jars, '*'),
      formatted: join(input.jars, '..', 'formatted'),
    });
  });
  const cluster: KafkaCluster = {
    nodes,
    brokers: plans.map((plan) => `${host}:${plan.advertisedPort}`),
    directBrokers: plans.map((plan) => `${loopback}:${plan.internalPort}`),
    async waitReady({ deadlineMs = READY_MS, signal = input.signal } = {}) {
      const running = nodes.filter((node) => node.isRunning());
      await Promise.all(running.map((node) => node.waitReady(running.length, { deadlineMs, signal })));
    },
  };
  await Promise.all(
    nodes.map(async (node) => {
      await node.format({ deadlineMs: READY_MS, signal: input.signal });
      await node.start();
    }),
  );
  await cluster.waitReady();
  return cluster;
}
