import { Actor } from '../engine/simulation.ts';
import type { Server, ServerConnection } from '../net/connection.ts';
import type { Network } from '../net/network.ts';
import type { Coordinator } from './coordinator.ts';
import { metadataAnswer, type Request, readRequest, type TopicView, versionsAnswer } from './messages.ts';
import { CODES, type Partition } from './partition.ts';
import { serveFetch, serveListOffsets } from './serve-fetch.ts';
import { type ProducePorts, serveProduce } from './serve-produce.ts';

const FIRST_PORT = 19_092;
/** What this broker knows of a partition. */
type View = TopicView['partitions'][number];

/** The cluster, as far as one of its brokers needs it. */
export type BrokerCluster = ProducePorts & {
  readonly network: Network;
  readonly brokers: readonly Broker[];
  readonly partitions: readonly Partition[];
  readonly coordinator: Pick<Coordinator, 'serve'>;
  announce(partition: Partition): void;
  fenceLater(broker: Broker, afterMs: number): void;
  register(broker: Broker): void;
};

/** One broker: it answers the requests of a connection one after the other, by what it knows itself. */
export class Broker implements Server {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  /** Takes connections also while the process is frozen. */
  readonly machine: Actor;
  process: Actor;
  isUp = true;
  /** The controller takes it for dead. */
  isFenced = false;
  /** false: it does not get what the leaders have. */
  replicates = true;
  readonly #cluster: BrokerCluster;
  readonly #views = new Map<string, View[]>();
  /** Brokers that it takes for alive. */
  #alive: readonly number[] = [];
  #starts = 0;

  constructor(cluster: BrokerCluster, id: number) {
    this.#cluster = cluster;
    this.id = id;
    this.host = `broker-${id}`;
    this.port = FIRST_PORT + id;
    this.machine = new Actor(this.host);
    this.process = new Actor(this.host);
    cluster.network.listen(this.port, this);
  }

  get actor(): Actor {
    return this.isUp ? this.process : this.machine;
  }

  viewOf = (topic: string): readonly View[] => this.#views.get(topic) ?? [];

  /** The process dies as by kill -9: its log stays. */
  kill(noticedAfterMs: number): void {
    if (!this.isUp) return;
    this.process.isAlive = false;
    this.isUp = false;
    for (const partition of this.#cluster.partitions) partition.forget(this.id);
    this.#cluster.network.cut(this.port);
    this.#cluster.fenceLater(this, noticedAfterMs);
  }

  start(): void {
    if (this.isUp) return;
    this.process = new Actor(`${this.host}.${++this.#starts}`);
    this.isUp = true;
    this.#cluster.register(this);
  }

  freeze(ms: number, noticedAfterMs: number): void {
    if (!this.isUp) return;
    this.#cluster.simulation.freeze(this.process, ms);
    this.#cluster.fenceLater(this, noticedAfterMs);
    this.#cluster.simulation.after(ms, this.machine, () => this.#cluster.register(this), { settles: false });
  }

  /** Learns of a partition's change. While frozen or dead it does not. */
  learn(partition: Partition): void {
    if (!this.isUp || this.process.frozenUntil > this.#cluster.simulation.now) return;
    const { topic, index, leader, epoch, replicas, isr } = partition;
    const views = this.#views.get(topic) ?? [];
    this.#views.set(topic, views);
    const led = views[index]?.leader === this.id;
    // Who learns of a new partition learns of those before it.
    for (const earlier of this.#cluster.topics.get(topic)?.slice(views.length, index) ?? [])
      this.learn(earlier);
    views[index] = { index, leader, epoch, replicas, isr: [...isr] };
    this.#alive = this.#cluster.brokers.filter(({ isFenced }) => !isFenced).map(({ id }) => id);
    if (led && leader !== this.id) partition.resign(this.id);
    if (leader !== this.id) this.#cluster.replicate(partition);
  }

  learnAll(): void {
    for (const partition of this.#cluster.partitions) this.learn(partition);
  }

  accept(connection: ServerConnection) {
    const { process } = this;
    let received: Buffer = Buffer.alloc(0);
    let isBusy = false;
    let isClosed = false;
    const next = () => {
      if (isBusy || received.length < 4) return;
      const end = received.readInt32BE(0) + 4;
      if (received.length < end) return;
      const frame = received.subarray(4, end);
      received = received.subarray(end);
      isBusy = true;
      const work = () =>
        this.#serve(frame, connection, () => {
          isBusy = false;
          next();
        });
      const delay = 0.05 + this.#cluster.random.next() * 0.2;
      this.#cluster.simulation.after(delay, process, work, { settles: false });
    };
    return {
      received: (bytes: Buffer) => {
        if (isClosed) return;
        received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
        next();
      },
      // What it has begun it ends; what it has not read is gone.
      closed: () => {
        isClosed = true;
        received = Buffer.alloc(0);
      },
    };
  }

  #serve(frame: Buffer, connection: ServerConnection, done: () => void): void {
    const answer = (bytes: Buffer, extraMs = 0) => {
      connection.send(bytes, extraMs);
      done();
    };
    let request: Request;
    try {
      request = readRequest(frame);
    } catch {
      return connection.reset();
    }
    const reply = { connection, answer, done };
    switch (request.kind) {
      case 'versions':
        return answer(versionsAnswer(request));
      case 'metadata':
        return answer(this.#metadata(request, request.topics));
      case 'produce':
        return serveProduce(this.#cluster, this, request, reply);
      case 'fetch':
        return serveFetch(this.#cluster, this, request, answer);
      case 'list-offsets':
        return answer(serveListOffsets(this.#cluster, this, request));
      default:
        return this.#cluster.coordinator.serve(this, request, reply);
    }
  }

  #metadata(request: Request, names: readonly string[] | null): Buffer {
    const topics = (names ?? [...this.#views.keys()]).map((name) => this.#topicView(name));
    const alive = this.#alive.map((id) => this.#cluster.brokers[id - 1] as Broker);
    return metadataAnswer(request, alive, topics);
  }

  #topicView(name: string): TopicView {
    const partitions = this.viewOf(name);
    const code = partitions.length > 0 ? CODES.NONE : CODES.UNKNOWN_TOPIC_OR_PARTITION;
    return { name, code, partitions };
  }
}
