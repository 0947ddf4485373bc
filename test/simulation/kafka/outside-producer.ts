import { partitionOf } from '../../../src/kafka/produce/topic-queues.ts';
import { Actor, type Simulation } from '../engine/simulation.ts';
import { batchOf } from './batch-of.ts';
import type { Cluster } from './cluster.ts';
import { CODES } from './partition.ts';

const AGAIN_MS = 200;

/** Somebody else's producer: writes until a record is confirmed. What was written without that is there twice. */
export class OutsideProducer {
  readonly #simulation: Simulation;
  readonly #cluster: Cluster;
  readonly #actor = new Actor('team');
  /** Records that are not confirmed yet. */
  open = 0;

  constructor(simulation: Simulation, cluster: Cluster) {
    this.#simulation = simulation;
    this.#cluster = cluster;
  }

  /** Sends it at `at`: records of one key to one partition. */
  plan(at: number, { topic, key, value }: { topic: string; key: string; value: string }): void {
    this.open++;
    const work = () => this.#send(topic, key, batchOf(key, value));
    this.#simulation.after(at - this.#simulation.now, this.#actor, work, { settles: false });
  }

  #send(topic: string, key: string, batch: Buffer): void {
    const partitions = this.#cluster.topics.get(topic) ?? [];
    const partition = partitions[partitionOf(Buffer.from(key), partitions.length)];
    const again = () => {
      const work = () => this.#send(topic, key, batch);
      this.#simulation.after(AGAIN_MS, this.#actor, work, { settles: false });
    };
    const { leader = -1, epoch = 0 } = partition ?? {};
    if (!partition || leader < 0 || !this.#cluster.broker(leader).isUp) return again();
    const order = this.#cluster.nextOrder();
    let isAnswered = false;
    const waiter = partition.append(leader, batch, { epoch, order, acks: -1 }, ({ code }) => {
      if (isAnswered) return;
      isAnswered = true;
      if (code === CODES.NONE) this.open--;
      else again();
    });
    if (typeof waiter === 'number') return again();
    this.#simulation.trace.note('team', `appends ${partition.name} at ${waiter.entry.base}`);
    this.#cluster.replicate(partition);
    // A broker that dies answers nobody.
    this.#simulation.after(
      5_000,
      this.#actor,
      () => {
        if (isAnswered) return;
        isAnswered = true;
        again();
      },
      { settles: false },
    );
  }
}
