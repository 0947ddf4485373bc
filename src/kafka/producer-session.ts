import { isIP } from 'node:net';
import { type Broker, Producer } from '@platformatic/kafka';
import { HooklineError } from '../core/errors.ts';
import { AttemptError, toAttemptError } from './attempt-error.ts';
import { type KafkaConnection, refusalOf } from './connection.ts';
import { explainRefusal } from './explain-refusal.ts';
import './join-pieces.ts';

/** A record as it goes on the wire: all of it bytes, made once, so that every attempt sends the identical batch. */
export type WireRecord = {
  readonly key: Buffer;
  /** null is a tombstone: it forgets the key in a compacted topic. */
  readonly value: Buffer | null;
  readonly headers: ReadonlyMap<Buffer, Buffer>;
  /** Milliseconds since 1970, as Kafka's record timestamp. */
  readonly timestamp: bigint;
};

/** One client of the cluster. It believes nothing but the broker's answer for the partition that was asked for. */
export type ProducerSession = {
  /**
   * Sends a batch to one partition of a topic that has `partitions` of them.
   * @returns the offset of the first record, when all in-sync replicas have the batch
   * @throws AttemptError
   */
  send(topic: string, partition: number, partitions: number, records: readonly WireRecord[]): Promise<bigint>;
  /** How many partitions the topic has, each with a leader. Throws AttemptError. */
  partitionsOf(topic: string): Promise<number>;
  /** Connects to the leaders of the topics' partitions, as the first send to each would. Throws AttemptError. */
  connect(topics: readonly string[]): Promise<void>;
  /** Cuts its connections at once: after it this client can't write any more, not even what waits in a socket. */
  cut(): void;
};

/** The client's own refresh of the metadata (3 s) comes after ours (2 s), so that it never slips between check and send. */
const METADATA_MAX_AGE_MS = 3_000;
const METADATA_CHECK_AGE_MS = 2_000;
const REQUEST_TIMEOUT_MS = 3_000;
const CONNECT_TIMEOUT_MS = 1_000;
/** With the rounds of TLS and SASL, and the arithmetic that both cost. */
const SECURE_CONNECT_TIMEOUT_MS = 2_500;

/**
 * Opens a session; `rotation` turns the seed brokers, so that the next one doesn't begin at a broker that hangs.
 * Not idempotent: that mode loses under concurrency. No retries inside: each failure is judged here.
 */
export function openProducerSession(
  connection: KafkaConnection,
  clientId: string,
  rotation: number,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
): ProducerSession {
  const { brokers, tls, sasl } = connection;
  const turn = rotation % brokers.length;
  const producer = new Producer({
    clientId,
    bootstrapBrokers: [...brokers.slice(turn), ...brokers.slice(0, turn)],
    ...(tls && { tls: liveTls(tls), tlsServerName: canNameServers(brokers) }),
    ...(sasl && { sasl }),
    idempotent: false,
    timeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectTimeout: tls || sasl ? SECURE_CONNECT_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
    retries: 0,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    autocreateTopics: false,
    repeatOnStaleMetadata: false,
    maxInflights: 100,
  });
  const lastFault = watchConnections(producer, connection);
  let neverAnswered = true;
  // Set when a broker's answer shows that the metadata is old. Not cleared there and then: a send of another lane
  // would fetch it between its check and its write.
  let stale = false;
  const refresh = async (topics: readonly string[]) => {
    const forceUpdate = stale;
    stale = false;
    const metadata = await producer.metadata({
      topics: [...topics],
      forceUpdate,
      metadataMaxAge: METADATA_CHECK_AGE_MS,
    });
    neverAnswered = false;
    return metadata;
  };
  const lookUp = async (topic: string) => {
    const metadata = await refresh([topic]);
    const found = metadata.topics.get(topic);
    if (!found) throw new AttemptError('retry', `the metadata has no topic ${topic}`);
    return { ...found, brokers: metadata.brokers };
  };
  const send = async (
    topic: string,
    partition: number,
    partitions: number,
    records: readonly WireRecord[],
  ) => {
    const now = (await lookUp(topic)).partitionsCount;
    // The client would wrap the number round: the record would land in a partition that nobody asked for (P3).
    if (now !== partitions)
      throw new AttemptError('replan', `${topic} has ${now} partitions, not ${partitions}`);
    const messages = records.map((record) => toMessage(topic, partition, record));
    const { offsets } = await producer.send({ acks: -1, messages });
    const [ack] = offsets ?? [];
    if (
      !ack ||
      offsets?.length !== 1 ||
      ack.topic !== topic ||
      ack.partition !== partition ||
      ack.offset < 0n
    ) {
      throw new AttemptError('doubt', `the answer does not confirm ${topic}[${partition}]`);
    }
    return ack.offset;
  };
  const lookUpLed = async (topic: string) => {
    const found = await lookUp(topic);
    const leaderless = found.partitions.findIndex(({ leader }) => !found.brokers.has(leader));
    if (leaderless >= 0) throw new AttemptError('retry', `${topic}[${leaderless}] has no leader`);
    return found;
  };
  const connect = async (topics: readonly string[]) => {
    // One question about all of them: each of the next finds its answer there.
    await refresh(topics);
    const led = await Promise.all(topics.map(lookUpLed));
    const leaders = new Set(
      led.flatMap(({ partitions, brokers }) => partitions.map(({ leader }) => brokers.get(leader) as Broker)),
    );
    await Promise.all([...leaders].map((leader) => producer.connections.get(leader)));
  };
  const explained = (failure: AttemptError): AttemptError => {
    if (failure.outcome !== 'doubt') return failure;
    const cause = new AggregateError([failure, lastFault()]);
    const explanation = explainRefusal(cause, connection, { neverAnswered });
    return explanation instanceof HooklineError
      ? new AttemptError('doubt', explanation.message, { cause: failure })
      : failure;
  };
  const judged = <T>(attempt: Promise<T>): Promise<T> =>
    attempt.catch((error: unknown) => {
      const judgement = explained(toAttemptError(error));
      // A leader moved, or the topic is new: the next attempt over this client asks afresh.
      if (judgement.outcome === 'retry') stale = true;
      throw judgement;
    });
  return {
    partitionsOf: (topic) => judged(lookUpLed(topic).then(({ partitionsCount }) => partitionsCount)),
    connect: (topics) => judged(connect(topics)),
    send: (topic, partition, partitions, records) => judged(send(topic, partition, partitions, records)),
    cut: () => cutProducer(producer),
  };
}

/** The client takes these options apart for each connection, and so gets the certificates as they are then. */
const liveTls = (tls: NonNullable<KafkaConnection['tls']>) => ({
  get secureContext() {
    return tls().context;
  },
});

/** Clusters behind one address are told apart by the name that is asked for; an address is no name (RFC 6066). */
const canNameServers = (brokers: readonly string[]) =>
  !brokers.some((broker) => isIP(broker.split(':')[0] ?? '') !== 0);

/**
 * Gives what befell a connection last. A refusal of our certificate comes after the connection is made, and a request
 * then hears no more than that it was closed. An error that nobody listens for would end the process.
 */
function watchConnections(producer: Producer, to: KafkaConnection): () => unknown {
  let last: unknown;
  producer.connections.on('connecting', ({ broker, connection }) => {
    connection.on('error', (error) => {
      last = error;
    });
    const refusal = refusalOf(to, broker.host);
    // The socket is there when this event is over, and connected later than that: nothing is sent on it.
    if (refusal) process.nextTick(() => connection.socket?.destroy(refusal));
  });
  return () => last;
}

function toMessage(topic: string, partition: number, { key, value, headers, timestamp }: WireRecord) {
  return {
    topic,
    partition,
    key,
    value: value as Buffer,
    headers: headers as Map<Buffer, Buffer>,
    timestamp,
  };
}

/** `close` waits for requests under way; the sockets are destroyed under it. */
function cutProducer(producer: Producer): void {
  const connections = [...producer.connections].map(([, connection]) => connection);
  producer.close().catch(() => {});
  for (const connection of connections) connection.socket?.destroy();
}
