import type { Random } from '../../faults/random.ts';
import { Actor, type Simulation } from '../engine/simulation.ts';
import type { Network } from '../net/network.ts';
import { Broker, type BrokerCluster } from './broker.ts';
import { Coordinator, OFFSETS_TOPIC } from './coordinator.ts';
import { type Entry, Partition } from './partition.ts';
import type { AnswerFault } from './serve-produce.ts';

export type TopicSpec = {
  readonly name: string;
  readonly partitions: number;
  /** max.message.bytes: of a batch on the wire. */
  readonly maxBytes: number;
};

export type ClusterOptions = {
  readonly brokers: number;
  readonly minIsr: number;
  readonly topics: readonly TopicSpec[];
  /** Whether consumers join a group. */
  readonly hasGroup?: boolean;
};

type MetFault = { readonly fault: AnswerFault; readonly chance: number };

/** Brokers that replicate: what they do is Kafka's protocol of requests and answers, and its rules of replication. */
export class Cluster implements BrokerCluster {
  readonly simulation: Simulation;
  readonly network: Network;
  readonly brokers: readonly Broker[];
  readonly topics = new Map<string, Partition[]>();
  /** By topic: max.message.bytes, where it is lowered. */
  readonly lowered = new Map<string, number>();
  readonly #maxBytes = new Map<string, number>();
  /** By broker, with what probability which fault meets a Produce request. */
  readonly answerFaults = new Map<number, MetFault>();
  /** The same for what consumers ask the group's coordinator. */
  readonly groupFaults = new Map<number, MetFault>();
  readonly coordinator: Coordinator;
  /** How long a broker takes to learn of a change, at the most. */
  metadataLagMs = 30;
  /** What a follower's fetch takes beyond the least, at the most. */
  fetchLagMs = 0.8;
  /** What it takes beyond the least until the controller hears of a broker that is back, at the most. */
  registerLagMs = 50;
  readonly random: Random;
  /** When consumers could read each batch at the earliest. */
  readonly readableAt = new Map<Entry, number>();
  readonly #controller = new Actor('controller');
  readonly #minIsr: number;
  /** By partition, the replicas whose fetch is under way. */
  readonly #fetching = new Map<Partition, Set<number>>();
  #order = 0;

  constructor(simulation: Simulation, network: Network, options: ClusterOptions) {
    const { brokers, minIsr, topics, hasGroup = false } = options;
    this.simulation = simulation;
    this.network = network;
    this.#minIsr = minIsr;
    this.random = simulation.random('kafka');
    this.brokers = Array.from({ length: brokers }, (_, n) => new Broker(this, n + 1));
    for (const { name, partitions, maxBytes } of topics) {
      this.topics.set(name, []);
      this.#maxBytes.set(name, maxBytes);
      this.addPartitions(name, partitions);
    }
    if (hasGroup) {
      this.topics.set(OFFSETS_TOPIC, []);
      this.addPartitions(OFFSETS_TOPIC, 1);
    }
    this.coordinator = new Coordinator(this);
    for (const broker of this.brokers) broker.learnAll();
  }

  /** As KAFKA_BROKERS. */
  get bootstrap(): string[] {
    return this.brokers.map(({ host, port }) => `${host}:${port}`);
  }

  nextOrder = (): number => ++this.#order;

  broker(id: number): Broker {
    return this.brokers[id - 1] as Broker;
  }

  get partitions(): Partition[] {
    return [...this.topics.values()].flat();
  }

  limitOf = (topic: string): number => this.lowered.get(topic) ?? this.#maxBytes.get(topic) ?? 0;

  /** The topic gets more partitions. */
  addPartitions(topic: string, count: number): void {
    const partitions = this.topics.get(topic) ?? [];
    const replicas = this.brokers.map(({ id }) => id);
    const end = partitions.length + count;
    for (let index = partitions.length; index < end; index++) {
      const partition = new Partition(topic, index, { replicas, minIsr: this.#minIsr });
      partitions.push(partition);
      this.#fetching.set(partition, new Set());
      partition.onAdvance(() => this.#noteReadable(partition));
      this.announce(partition);
    }
  }

  #noteReadable(partition: Partition): void {
    const watermark = partition.watermark(partition.leader);
    const { kept } = partition;
    for (let n = kept.length - 1; n >= 0; n--) {
      const entry = kept[n] as Entry;
      if (entry.end > watermark) continue;
      if (this.readableAt.has(entry)) return;
      this.readableAt.set(entry, this.simulation.now);
    }
  }

  /** Every batch that the leaders have at the end, where, and since when it can be read. */
  *stored(): Generator<
    Entry & { readonly topic: string; readonly partition: number; readonly readableAt: number | undefined }
  > {
    for (const { topic, index, kept } of this.partitions)
      for (const entry of kept)
        yield { ...entry, topic, partition: index, readableAt: this.readableAt.get(entry) };
  }

  /** The brokers learn of a change, each after a while of its own. */
  announce(partition: Partition): void {
    for (const broker of this.brokers) {
      const lag = 1 + this.random.next() * this.metadataLagMs;
      this.simulation.after(lag, broker.machine, () => broker.learn(partition), { settles: false });
    }
  }

  /** Followers fetch what the leader has, and it then answers who waits for that. */
  replicate(partition: Partition): void {
    for (const replica of partition.replicas)
      if (replica !== partition.leader) this.#fetch(partition, replica);
    partition.advance();
    this.#answerLater(partition);
  }

  #fetch(partition: Partition, replica: number): void {
    const broker = this.broker(replica);
    const fetching = this.#fetching.get(partition);
    if (!fetching || !broker.isUp || !broker.replicates || fetching.has(replica)) return;
    fetching.add(replica);
    // On the machine: a process that dies meanwhile must not leave the mark behind.
    this.simulation.after(
      0.2 +
        this.random.next() * this.fetchLagMs +
        Math.max(0, broker.process.frozenUntil - this.simulation.now),
      broker.machine,
      () => {
        fetching.delete(replica);
        if (!broker.isUp || !broker.replicates || broker.isFenced) return;
        const { size } = partition.isr;
        if (!partition.catchUp(replica)) return;
        if (partition.isr.size > size) this.announce(partition);
        partition.advance();
        this.#answerLater(partition);
      },
      { settles: false },
    );
  }

  #answerLater(partition: Partition): void {
    const { leader } = partition;
    if (leader < 0 || !partition.isWaiting || !this.broker(leader).isUp) return;
    const delay = 0.1 + this.random.next() * 0.4;
    const complete = () => partition.complete();
    this.simulation.after(delay, this.broker(leader).process, complete, { settles: false });
  }

  /** The controller has not heard of a broker for too long, or hears of it again. */
  fenceLater(broker: Broker, afterMs: number): void {
    const isGone = () => !broker.isUp || broker.process.frozenUntil > this.simulation.now;
    this.simulation.after(
      afterMs,
      this.#controller,
      () => {
        if (!isGone() || broker.isFenced) return;
        this.simulation.trace.note('controller', `fences ${broker.id}`);
        broker.isFenced = true;
        this.#change((partition) => partition.fence(broker.id, this.#canLead));
      },
      { settles: false },
    );
  }

  /** A broker is back: it leads what nobody else can, and follows the rest. */
  register(broker: Broker): void {
    this.simulation.after(
      5 + this.random.next() * this.registerLagMs,
      this.#controller,
      () => {
        if (!broker.isUp) return;
        this.simulation.trace.note('controller', `registers ${broker.id}`);
        broker.isFenced = false;
        broker.learnAll();
        this.#change((partition) => {
          if (partition.leader < 0) partition.elect(this.#canLead);
        }, true);
      },
      { settles: false },
    );
  }

  /** A replica that does not keep up is no longer in sync. */
  shrink(broker: number): void {
    this.#change((partition) => {
      if (partition.leader !== broker && partition.isr.size > 1) partition.isr.delete(broker);
    }, true);
  }

  /** Every partition gets another leader, where another replica is in sync. */
  moveLeaders(): void {
    this.#change((partition) => {
      const others = partition.replicas.filter((replica) => replica !== partition.leader);
      partition.elect(this.#canLead, this.random.pick(others.length > 0 ? others : partition.replicas));
    });
  }

  /** Whether every partition has a leader and all its replicas in sync. */
  get isWhole(): boolean {
    for (const partitions of this.topics.values())
      for (const { leader, isr, replicas } of partitions)
        if (leader <= 0 || isr.size !== replicas.length) return false;
    return true;
  }

  #canLead = (id: number): boolean => this.broker(id).isUp && !this.broker(id).isFenced;

  #change(change: (partition: Partition) => void, always = false): void {
    for (const partition of this.partitions) {
      const { leader, epoch, isr } = partition;
      const { size } = isr;
      change(partition);
      const isSame = partition.leader === leader && partition.epoch === epoch && isr.size === size;
      if (isSame && !always) continue;
      this.announce(partition);
      this.replicate(partition);
    }
  }
}
