import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { openSandbox } from '../../sandbox/support/open-sandbox.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import { startStack } from '../../stack/start-stack.ts';
import type { RunningProcess } from '../../support/running-process.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import { Gate } from './gate.ts';
import { openKafkaGate } from './kafka-gate.ts';
import { openProviderGate } from './provider-gate.ts';
import { openTail } from './topic-tail.ts';

export type Result = {
  readonly commandId: string;
  readonly status: string;
  readonly errorCode: string | null;
  readonly message: string | null;
  readonly finishedAt: number;
  readonly subscriptionId: string | null;
  readonly subscriptions: readonly { readonly subscriptionId: string }[] | null;
};
export type Subscription = { readonly id: string; readonly url: string; readonly events: readonly string[] };

/** Nothing listens there: deliveries are no part of this. */
export const PUBLIC_URL = 'http://127.0.0.1:9';
/** A dead process is out of the group after it: less than brokers allow by default, so that many can die. */
const SESSION_MS = 1_500;

/** A broker, a provider and control processes that reach both through the gate alone. */
export async function openControlKit(
  options: { readonly registryUrl?: string; readonly env?: Record<string, string> } = {},
) {
  const closing = new AsyncDisposableStack();
  const gate = new Gate();
  const sandbox = closing.use(await openSandbox());
  const provider = closing.use(await openProviderGate({ target: sandbox.url, gate }));
  const [port = 0] = await freePorts(1);
  let listening = 0;
  let topics: string[] = [];
  let mark = '';
  const kafkaGate = closing.use(
    await openKafkaGate({ port, target: () => listening, gate, topics: () => topics, mark: () => mark }),
  );
  const stack = await startStack({
    env: { ...process.env, KAFKA_BROKERS: undefined, SCHEMA_REGISTRY_URL: undefined },
    way: 'jvm',
    nodes: 1,
    withRegistry: options.registryUrl === undefined,
    kafka: {
      advertisedPorts: [port],
      properties: { 'group.min.session.timeout.ms': 500, 'log.cleaner.backoff.ms': 500 },
    },
  });
  closing.defer(() => stack.stop());
  listening = stack.kafka?.nodes[0]?.port ?? 0;
  const brokers = stack.kafka?.directBrokers ?? [];
  const registryUrl = options.registryUrl ?? stack.registryUrl;
  const fixture = closing.use(await Fixture.make({ brokers, registryUrl }, { partitions: 6 }));
  const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await Promise.all([admin.connect(), producer.connect()]);
  closing.defer(() => Promise.all([admin.disconnect(), producer.disconnect()]).then(() => {}));
  const [commands, results, state] = ['commands', 'command-results', 'subscriptions'].map(fixture.topic) as [
    string,
    string,
    string,
  ];
  topics = [results, state, fixture.topic('dead-letter'), commands];
  const tail = closing.use(await openTail({ kafka, registryUrl, topics: [results, state] }));

  const env = {
    ...fixture.controlEnv({ provider: provider.url, publicUrl: PUBLIC_URL }),
    KAFKA_BROKERS: stack.brokers.join(','),
    LOG_LEVEL: 'info',
    CONTROL_SESSION_TIMEOUT_MS: String(SESSION_MS),
    RECONCILE: 'off',
    ...options.env,
  };
  const group = `${fixture.prefix}-control`;
  const lag = async () => {
    const [of] = await admin.fetchOffsets({ groupId: group, topics: [commands] });
    const ends = await admin.fetchTopicOffsets(commands);
    return ends.reduce((sum, { partition, high }) => {
      const offset = of?.partitions.find((one) => one.partition === partition)?.offset ?? '-1';
      return sum + Number(high) - Math.max(0, Number(offset));
    }, 0);
  };
  return {
    gate,
    sandbox,
    provider,
    fixture,
    registryUrl,
    land: () => kafkaGate.land(),
    /** Stops the broker, or lets it go on. */
    signalBroker: (signal: 'SIGSTOP' | 'SIGCONT') => stack.kafka?.nodes[0]?.kill(signal),
    /** Where the broker is, not through the gate. */
    direct: { KAFKA_BROKERS: brokers.join(','), SCHEMA_REGISTRY_URL: registryUrl },
    stateTopic: state,
    /** Starts a control process, and doesn't wait for it. */
    start: (more: Record<string, string> = {}): RunningProcess =>
      fixture.start('src/control/main.ts', { ...env, ...more }, []),
    async send(
      command: Record<string, unknown>,
      key: string | null = String(command.ref ?? command.commandId),
    ) {
      await producer.send({ topic: commands, acks: -1, messages: [{ key, value: JSON.stringify(command) }] });
    },
    /** The arrival of the command with this id is a point from now on. */
    watch(commandId: string) {
      mark = commandId;
    },
    results: (commandId: string) => tail.of(results, commandId) as unknown as Result[],
    allResults: () => tail.all(results).map(({ record }) => record as unknown as Result),
    state: (ref: string) => tail.of(state, ref).at(-1) ?? null,
    subscriptions: async (): Promise<Subscription[]> =>
      (await sandbox.call('GET', '/_sandbox/subscriptions')).json,
    /** Every command has its result, and all are committed. */
    settled: (ids: readonly string[], deadlineMs = 60_000) =>
      until(
        `${ids.length} commands are settled`,
        async () => ids.every((id) => tail.of(results, id).length > 0) && (await lag()) === 0,
        deadlineMs,
      ),
    /** Commands that are not committed. */
    lag,
    newId: () => randomUUID(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

export type ControlKit = Awaited<ReturnType<typeof openControlKit>>;
