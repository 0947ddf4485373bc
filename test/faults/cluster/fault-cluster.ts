import kafkajs from 'kafkajs';
import type { KafkaNode } from '../../stack/kafka-node.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';
import { until } from '../../support/until.ts';
import { FaultProxy } from '../proxy/fault-proxy.ts';
import { ProduceFaults } from '../proxy/produce-faults.ts';

export type ClusterOptions = {
  readonly seed: number;
  /** How long a broker may be silent before the cluster takes its partitions from it: Kafka's default is 9 s. */
  readonly sessionTimeoutMs?: number;
  /** A registry that runs already; one is started where it isn't given. */
  readonly registryUrl?: string | undefined;
  /** Brokers that start with less of the processor's work, and are slower later. */
  readonly shortLived?: boolean;
  /** Another version of Kafka than that of the stack. */
  readonly kafkaVersion?: string;
  readonly onProgress?: (line: string) => void;
  readonly signal?: AbortSignal;
};

/** One broker, and the proxy that is the only way to it for the systems under test. */
export type Broker = { readonly node: KafkaNode; readonly proxy: FaultProxy };

const NODES = 3;
/** A cluster that all was done to gets this long to be whole again. */
const WHOLE_MS = 90_000;

/** Three real brokers, each behind a proxy, that can be killed, frozen and cut off. Tests themselves go past the proxies. */
export class FaultCluster implements AsyncDisposable {
  readonly brokers: readonly Broker[];
  readonly registryUrl: string;
  /** What the systems under test connect to. */
  readonly proxied: readonly string[];
  /** The brokers' own listeners. */
  readonly direct: readonly string[];
  readonly kafka: kafkajs.Kafka;
  readonly #stack: Stack;

  private constructor(stack: Stack, registryUrl: string, brokers: readonly Broker[]) {
    this.#stack = stack;
    this.brokers = brokers;
    this.registryUrl = registryUrl;
    this.proxied = stack.brokers;
    this.direct = stack.kafka?.directBrokers ?? [];
    this.kafka = new kafkajs.Kafka({
      clientId: 'fault-kit',
      brokers: [...this.direct],
      logLevel: kafkajs.logLevel.NOTHING,
    });
  }

  static async start(options: ClusterOptions): Promise<FaultCluster> {
    const {
      seed,
      sessionTimeoutMs,
      registryUrl,
      kafkaVersion,
      shortLived = false,
      onProgress,
      signal,
    } = options;
    const ports = await freePorts(NODES);
    const listening: (() => number)[] = [];
    const proxies = ports.map((port, n) => {
      const faults = new ProduceFaults(seed, `broker-${n + 1}`);
      return new FaultProxy({ port, target: () => listening[n]?.() ?? 0, faults });
    });
    await Promise.all(proxies.map((proxy) => proxy.listen()));
    const properties = {
      // A leader that moved goes back to the preferred replica within a second: how leaders are moved here.
      'leader.imbalance.check.interval.seconds': 1,
      'leader.imbalance.per.broker.percentage': 0,
      ...(sessionTimeoutMs !== undefined && {
        'broker.session.timeout.ms': sessionTimeoutMs,
        'broker.heartbeat.interval.ms': Math.floor(sessionTimeoutMs / 4),
      }),
    };
    const stack = await startStack({
      env: {
        ...process.env,
        KAFKA_BROKERS: undefined,
        SCHEMA_REGISTRY_URL: undefined,
        ...(kafkaVersion && { HOOKLINE_STACK_KAFKA: kafkaVersion }),
      },
      way: 'jvm',
      nodes: NODES,
      withRegistry: registryUrl === undefined,
      kafka: { advertisedPorts: ports, heapMb: 512, properties },
      shortLived,
      onProgress,
      signal,
    });
    const nodes = stack.kafka?.nodes ?? [];
    for (const node of nodes) listening.push(() => node.port);
    return new FaultCluster(
      stack,
      registryUrl ?? stack.registryUrl,
      nodes.map((node, n) => ({ node, proxy: proxies[n] as FaultProxy })),
    );
  }

  async withAdmin<T>(work: (admin: kafkajs.Admin) => Promise<T>): Promise<T> {
    const admin = this.kafka.admin({ retry: { retries: 2 } });
    try {
      await admin.connect();
      return await work(admin);
    } finally {
      await admin.disconnect().catch(() => {});
    }
  }

  /** Ends every fault: what is frozen goes on, what was killed starts, the ways are free. */
  async heal(): Promise<void> {
    for (const { proxy } of this.brokers) proxy.heal();
    await Promise.all(this.brokers.map(({ node }) => node.kill('SIGCONT')));
    await Promise.all(this.brokers.map(({ node }) => node.start()));
  }

  /** Waits until every replica of these topics is in sync again. */
  async whole(topics: readonly string[], deadlineMs = WHOLE_MS): Promise<void> {
    const isWhole = () =>
      this.withAdmin(async (admin) => {
        const metadata = await admin.fetchTopicMetadata({ topics: [...topics] });
        const partitions = metadata.topics.flatMap((topic) => topic.partitions);
        return partitions.every(({ isr, leader }) => isr.length === NODES && leader >= 0);
      }).catch(() => false);
    // A broker that was just killed still counts as in sync: first they have to answer.
    await this.#stack.kafka?.waitReady({ deadlineMs });
    await until('every replica is in sync', isWhole, deadlineMs);
  }

  /** Turns the order of each partition's replicas: its leader is then another one. */
  async moveLeaders(topics: readonly string[], turn: number): Promise<void> {
    await this.withAdmin((admin) =>
      admin.alterPartitionReassignments({
        topics: topics.map((topic) => ({ topic, partitionAssignment: turnedAssignment(turn) })),
        timeout: 10_000,
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.stop();
    await Promise.all(this.brokers.map(({ proxy }) => proxy.close()));
  }
}

/** As `hookline topics apply` makes them. */
export const PARTITIONS = 6;

const turnedAssignment = (turn: number) =>
  Array.from({ length: PARTITIONS }, (_, partition) => ({
    partition,
    replicas: Array.from({ length: NODES }, (_, n) => ((partition + turn + n) % NODES) + 1),
  }));
