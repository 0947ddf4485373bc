import type { Random } from '../../faults/random.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';
import type { ServerConnection } from '../net/connection.ts';
import { type PartitionAnswer, produceAnswer, type Request } from './messages.ts';
import { CODES, type Partition } from './partition.ts';
import { namesOf } from './record-batch.ts';

/** What a broker does instead of answering a request as it should. */
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

/** By broker, with what probability which fault meets a request. */
export type AnswerFaults = ReadonlyMap<number, { readonly fault: AnswerFault; readonly chance: number }>;

/** The broker that serves, as far as it matters. */
export type Serving = {
  readonly id: number;
  readonly process: Actor;
  /** Whom it takes for the leader of each partition, and in which epoch. */
  viewOf(topic: string): readonly { readonly leader: number; readonly epoch: number }[];
};

export type ProducePorts = {
  readonly simulation: Simulation;
  readonly random: Random;
  readonly topics: ReadonlyMap<string, readonly Partition[]>;
  readonly answerFaults: AnswerFaults;
  limitOf(topic: string): number;
  /** Counts the appends. */
  nextOrder(): number;
  replicate(partition: Partition): void;
};

/** How an answer goes out. */
export type Reply = {
  readonly connection: ServerConnection;
  readonly answer: (bytes: Buffer, extraMs?: number) => void;
  /** The request is over, without an answer. */
  readonly done: () => void;
};

type ProduceRequest = Extract<Request, { kind: 'produce' }>;

export function serveProduce(
  ports: ProducePorts,
  broker: Serving,
  request: ProduceRequest,
  { connection, answer, done }: Reply,
): void {
  const { answerFaults, random } = ports;
  const met = answerFaults.get(broker.id);
  const fault = met && random.chance(met.chance) ? met.fault : undefined;
  if (fault) ports.simulation.trace.note(broker.process.name, `meets ${fault.kind}`);
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
    else append(ports, broker, { topic, partition, batch, ...request }, note);
  }
}

type Append = Pick<ProduceRequest, 'acks' | 'timeoutMs'> & {
  readonly topic: string;
  readonly partition: number;
  readonly batch: Buffer;
};

function append(
  ports: ProducePorts,
  broker: Serving,
  { topic, partition, batch, acks, timeoutMs }: Append,
  answer: (answer: { code: number; base: number }) => void,
): void {
  const { simulation } = ports;
  const refuse = (code: number) => answer({ code, base: -1 });
  const found = ports.topics.get(topic)?.[partition];
  const view = broker.viewOf(topic)[partition];
  if (!found || !view) return refuse(CODES.UNKNOWN_TOPIC_OR_PARTITION);
  if (view.leader !== broker.id) return refuse(CODES.NOT_LEADER_OR_FOLLOWER);
  if (batch.length > ports.limitOf(topic)) return refuse(CODES.MESSAGE_TOO_LARGE);
  const order = ports.nextOrder();
  const waiter = found.append(broker.id, batch, { epoch: view.epoch, order, acks }, answer);
  if (typeof waiter === 'number') return refuse(waiter);
  simulation.trace.note(broker.process.name, `appends ${found.name} at ${waiter.entry.base}`);
  simulation.trace.explain(broker.process.name, () => `  ${namesOf(batch)}`);
  if (acks !== -1) return answer({ code: CODES.NONE, base: waiter.entry.base });
  const timeOut = () => found.giveUp(waiter, CODES.REQUEST_TIMED_OUT);
  waiter.timeout = simulation.after(timeoutMs, broker.process, timeOut, { settles: false });
  ports.replicate(found);
}
