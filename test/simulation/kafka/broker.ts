import type { Random } from '../../faults/random.ts';
import { Actor, type Simulation } from '../engine/simulation.ts';
import type { Network, Server, ServerConnection } from '../net/network.ts';
import {
  metadataAnswer,
  type PartitionAnswer,
  produceAnswer,
  type Request,
  readRequest,
  type TopicView,
  versionsAnswer,
} from './messages.ts';
import { CODES, type Partition } from './partition.ts';
import { namesOf } from './record-batch.ts';

const FIRST_PORT = 19_092;
/** What this broker knows of a partition. */
type View = TopicView['partitions'][number];

/** What a broker does instead of answering a Produce request as it should. */
export type AnswerFault =
  /** The connection breaks, after the batch was written. */
  | { readonly kind: 'drop' }
  /** The answer never comes. */
  | { readonly kind: 'swallow' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** The answer comes twice. */
  | { readonly kind: 'duplicate' }
  /** An error of Kafka; `appends`: although the batch was written. */
  | { readonly kind: 'error'; readonly code: number; readonly appends: boolean };

/** The cluster, as far as one of its brokers needs it. */
export type BrokerCluster = {
  readonly simulation: Simulation;
  readonly network: Network;
  readonly random: Random;
  readonly brokers: readonly Broker[];
  readonly partitions: readonly Partition[];
  readonly topics: ReadonlyMap<string, readonly Partition[]>;
  /** By broker, with what probability which fault meets a Produce request. */
  readonly answerFaults: ReadonlyMap<number, { readonly fault: AnswerFault; readonly chance: number }>;
  limitOf(topic: string): number;
  /** Counts the appends. */
  nextOrder(): number;
  announce(partition: Partition): void;
  replicate(partition: Partition): void;
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
    if (request.kind === 'versions') return answer(versionsAnswer(request));
    if (request.kind === 'metadata') return answer(this.#metadata(request, request.topics));
    this.#produce(request, connection, answer, done);
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

  #produce(
    request: Extract<Request, { kind: 'produce' }>,
    connection: ServerConnection,
    answer: (bytes: Buffer, extraMs?: number) => void,
    done: () => void,
  ): void {
    const { answerFaults, random } = this.#cluster;
    const met = answerFaults.get(this.id);
    const fault = met && random.chance(met.chance) ? met.fault : undefined;
    if (fault) this.#cluster.simulation.trace.note(this.process.name, `meets ${fault.kind}`);
    const answers: PartitionAnswer[] = [];
    const finish = () => {
      const bytes = produceAnswer(request, answers);
      if (request.acks === 0) return done();
      if (fault?.kind === 'drop') return connection.reset();
      if (fault?.kind === 'swallow') return done();
      if (fault?.kind === 'duplicate') connection.send(bytes);
      answer(bytes, fault?.kind === 'delay' ? fault.ms : 0);
    };
    // As brokers do: kafkajs asks for nothing at times, and takes the answer for a confirmation.
    if (request.batches.length === 0) finish();
    for (const { topic, partition, batch } of request.batches) {
      const note = ({ code, base }: { code: number; base: number }) => {
        const shown = fault?.kind === 'error' ? { code: fault.code, base: -1 } : { code, base };
        answers.push({ topic, partition, ...shown });
        if (answers.length === request.batches.length) finish();
      };
      if (fault?.kind === 'error' && !fault.appends) note({ code: fault.code, base: -1 });
      else this.#append({ topic, partition, batch }, request, note);
    }
  }

  #append(
    { topic, partition, batch }: { topic: string; partition: number; batch: Buffer },
    { acks, timeoutMs }: { readonly acks: number; readonly timeoutMs: number },
    answer: (answer: { code: number; base: number }) => void,
  ): void {
    const { simulation } = this.#cluster;
    const refuse = (code: number) => answer({ code, base: -1 });
    const found = this.#cluster.topics.get(topic)?.[partition];
    const view = this.viewOf(topic)[partition];
    if (!found || !view) return refuse(CODES.UNKNOWN_TOPIC_OR_PARTITION);
    if (view.leader !== this.id) return refuse(CODES.NOT_LEADER_OR_FOLLOWER);
    if (batch.length > this.#cluster.limitOf(topic)) return refuse(CODES.MESSAGE_TOO_LARGE);
    const order = this.#cluster.nextOrder();
    const waiter = found.append(this.id, batch, { epoch: view.epoch, order, acks }, answer);
    if (typeof waiter === 'number') return refuse(waiter);
    simulation.trace.note(this.process.name, `appends ${found.name} at ${waiter.entry.base}`);
    simulation.trace.explain(this.process.name, () => `  ${namesOf(batch)}`);
    if (acks !== -1) return answer({ code: CODES.NONE, base: waiter.entry.base });
    const timeOut = () => found.giveUp(waiter, CODES.REQUEST_TIMED_OUT);
    waiter.timeout = simulation.after(timeoutMs, this.process, timeOut, { settles: false });
    this.#cluster.replicate(found);
  }
}
