import { expect, it } from 'vitest';

import { actorClock } from '../engine/actor-clock.ts';
import { Actor, Simulation } from '../engine/simulation.ts';
import { takeOver, within } from '../engine/take-over.ts';
import { Network } from '../net/network.ts';
import { Cluster } from './cluster.ts';
import { OutsideProducer } from './outside-producer.ts';

// Before the client is loaded.
const taken = takeOver();
const { createKafkajs } = await import('../../../src/kafka/connect/kafkajs-client.ts');
const { openFetcher } = await import('../../../src/kafka/consume/topic-fetcher.ts');
const { readInGroup } = await import('../../../src/kafka/consume/group-reader.ts');

const TOPIC = 'payments.commands';

/** The product's group reader over kafkajs, in processes that work on one topic of a simulated cluster. */
function start(seed: number) {
  const simulation = new Simulation(seed, { keepsLines: true });
  const network = new Network(simulation);
  const topics = [{ name: TOPIC, partitions: 2, maxBytes: 1_000_000 }];
  const cluster = new Cluster(simulation, network, { brokers: 3, minIsr: 2, topics, hasGroup: true });
  const producer = new OutsideProducer(simulation, cluster);
  const handled: string[] = [];
  const working: string[] = [];
  const readers = new Map<string, { stop(): Promise<void> }>();
  const startReader = (name: string) => {
    const actor = new Actor(name);
    const clock = actorClock(simulation, actor, simulation.random(name));
    const connection = {
      brokers: cluster.bootstrap,
      tls: undefined,
      sasl: undefined,
      loopbackOnly: false,
    };
    const begin = async () => {
      const reader = await readInGroup({
        kafka: createKafkajs(connection, name, () => {}),
        groupId: 'g',
        topics: [TOPIC],
        sessionTimeoutMs: 10_000,
        keysOf: async ({ key }) => [`${key}`],
        clock,
        async handle({ value }, lease) {
          lease.check();
          handled.push(`${name} ${value}`);
        },
        openTopic: (topic) => openFetcher(connection, { clientId: name, clock }, topic),
        onError() {},
        onRefused() {},
        onInterrupted() {},
        onRecreated() {},
        onFatal() {},
        onWorking: (lease) => void working.push(`${name} ${lease ? 'works' : 'stands by'}`),
      });
      readers.set(name, reader);
    };
    simulation.after(0, actor, () => void begin());
    return actor;
  };
  const send = (at: number, value: string) => producer.plan(at, { topic: TOPIC, key: value, value });
  const run = <T>(work: () => Promise<T>) => within(taken, { simulation, connect: network.connect }, work);
  return { simulation, network, cluster, handled, working, readers, startReader, send, run };
}

it('gives the partitions to one process, and to the next one when that is killed; what was committed does not come again', async () => {
  const { simulation, network, handled, working, startReader, send, run } = start(1);
  await run(async () => {
    const first = startReader('a');
    await simulation.runUntil(2_000);
    startReader('b');
    for (let n = 0; n < 6; n++) send(2_500 + n, `early-${n}`);
    await simulation.runUntil(8_000);
    expect(handled.toSorted()).toEqual([0, 1, 2, 3, 4, 5].map((n) => `a early-${n}`));
    first.isAlive = false;
    network.closeAllOf(first);
    send(9_000, 'late');
    await simulation.runUntil(17_000);
    expect(handled).toHaveLength(6);
    await simulation.runUntil(25_000);
    expect(handled.slice(6)).toEqual(['b late']);
    expect(working).toEqual(['a works', 'b works']);
  });
  expect(simulation.unhandled).toEqual([]);
});

it('fences a process that was frozen, and goes on where the coordinator is killed', async () => {
  const { simulation, cluster, handled, working, startReader, send, run } = start(2);
  await run(async () => {
    const first = startReader('a');
    await simulation.runUntil(2_000);
    startReader('b');
    await simulation.runUntil(6_000);
    simulation.freeze(first, 30_000);
    send(25_000, 'while it is frozen');
    await simulation.runUntil(40_000);
    expect(handled).toEqual(['b while it is frozen']);
    expect(working.slice(0, 3)).toEqual(['a works', 'b works', 'a stands by']);
    const [offsets] = cluster.topics.get('__consumer_offsets') ?? [];
    const coordinator = cluster.broker(offsets?.leader ?? 1);
    coordinator.kill(500);
    send(45_000, 'after the coordinator');
    await simulation.runUntil(60_000);
    // The client leaves the group and starts again: what was not committed comes once more.
    const [last, ...more] = handled.slice(1).map((one) => one.slice(2));
    expect([last, more.filter((one) => one !== last)]).toEqual(['after the coordinator', []]);
    coordinator.start();
    await simulation.runUntil(70_000);
  });
  expect(simulation.unhandled).toEqual([]);
});

it('leaves no connection and no timer behind, and its partitions at once to the other', async () => {
  const { simulation, network, handled, readers, startReader, send, run } = start(3);
  await run(async () => {
    const first = startReader('a');
    await simulation.runUntil(2_000);
    startReader('b');
    await simulation.runUntil(6_000);
    simulation.after(0, first, () => void readers.get('a')?.stop());
    send(6_500, 'next');
    await simulation.runUntil(12_000);
    expect(handled).toEqual(['b next']);
    await simulation.runUntil(30_000);
    expect(network.openOf(first)).toBe(0);
    expect(first.pending).toBe(0);
  });
});
