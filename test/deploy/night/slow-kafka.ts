import { FaultProxy } from '../../faults/proxy/fault-proxy.ts';
import { ProduceFaults } from '../../faults/proxy/produce-faults.ts';
import type { KafkaNode } from '../../stack/kafka-node.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';

/** A broker of the drill's own, which may be killed, and which can be made to confirm late. */
export class SlowKafka implements AsyncDisposable {
  readonly stack: Stack;
  readonly node: KafkaNode;
  readonly #proxy: FaultProxy;

  constructor(stack: Stack, node: KafkaNode, proxy: FaultProxy) {
    this.stack = stack;
    this.node = node;
    this.#proxy = proxy;
  }

  /** Milliseconds from a Produce request's effect to its answer, beside what the broker itself takes. */
  answerAfter(delayMs: number): void {
    this.#proxy.faults.set(delayMs === 0 ? null : { kind: 'delay', percent: 100, delayMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy.close();
    await this.stack.stop();
  }
}

export async function startSlowKafka(): Promise<SlowKafka> {
  const [port = 0] = await freePorts(1);
  const properties = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };
  const env = { ...process.env, KAFKA_BROKERS: undefined, SCHEMA_REGISTRY_URL: undefined };
  let target = 0;
  const proxy = new FaultProxy({ port, target: () => target, faults: new ProduceFaults(1, 'night') });
  await proxy.listen();
  const stack = await startStack({
    env,
    way: 'jvm',
    nodes: 1,
    kafka: { advertisedPorts: [port], properties },
  });
  const [node] = stack.kafka?.nodes ?? [];
  if (!node) throw new Error('no broker of its own');
  target = node.port;
  return new SlowKafka(stack, node, proxy);
}
