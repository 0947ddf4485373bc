import '../connect/client-patches.ts';
import {
  apiVersionsV1,
  type Connection,
  produceV3,
  produceV4,
  produceV5,
  produceV6,
  produceV7,
  produceV8,
  produceV9,
  produceV10,
  produceV11,
  type Writer,
} from '@platformatic/kafka';
import { apiIdOf } from '../connect/platformatic-client.ts';
import {
  ALL_REPLICAS,
  type Batch,
  ENCODED_SINCE,
  encodeProduce,
  isEncodedHere,
  type WireRecord,
} from './encode-batch.ts';

export type ProduceBatch = {
  /** Learns which versions of requests the broker takes, as the first batch over this connection would. */
  prepare(connection: Connection): Promise<void>;
  /**
   * Has the connection's broker write a batch.
   * @returns the offset of the first record, when all in-sync replicas have the batch
   * @throws AttemptError `late` where `mayBegin` said no: then nothing was sent
   */
  send(connection: Connection, batch: Batch): Promise<bigint>;
};

/** Newest first. They differ in what a broker adds to its answer. */
const VERSIONS = [
  produceV11,
  produceV10,
  produceV9,
  produceV8,
  produceV7,
  produceV6,
  produceV5,
  produceV4,
  produceV3,
].map(({ api }) => api);
type ProduceApi = (typeof VERSIONS)[number];

/**
 * Produces over the client's connections without its producer, which looks up the metadata and the connection once more
 * before it writes: a record could be written long after its deadline. From `mayBegin` to the socket all happens
 * in one turn of the event loop, as long as the connection has no limit of requests in flight.
 */
export function createProduceBatch(timeoutMs: number): ProduceBatch {
  const known = new WeakMap<Connection, ProduceApi>();
  const apiOf = async (connection: Connection): Promise<ProduceApi> => {
    const { apiKeys } = await apiVersionsV1.api.async(connection, '', '');
    const range = apiKeys.find(({ apiKey }) => apiKey === VERSIONS[0]?.key);
    const api = VERSIONS.find(
      ({ version }) => range && version >= range.minVersion && version <= range.maxVersion,
    );
    if (!api)
      throw new AttemptError('unknown', 'the broker and this client have no version of Produce in common');
    known.set(connection, api);
    return api;
  };
  return {
    async prepare(connection) {
      if (!known.has(connection)) await apiOf(connection);
    },
    async send(connection, batch) {
      const { topic, partition, records, mayBegin } = batch;
      const api = known.get(connection) ?? (await apiOf(connection));
      if (!mayBegin()) throw late();
      const encode =
        api.version >= ENCODED_SINCE && isEncodedHere(batch)
          ? () => encodeProduce(batch, timeoutMs)
          : undefined;
      const messages = encode ? [] : records.map((record) => toMessage(topic, partition, record));
      const over = checked(connection, mayBegin, encode);
      const answer = await api.async(over, ALL_REPLICAS, timeoutMs, messages, {});
      const [ack, ...others] = typeof answer === 'boolean' ? [] : answer.responses;
      const [place, ...otherPlaces] = ack?.partitionResponses ?? [];
      const isOther = others.length > 0 || otherPlaces.length > 0 || ack?.name !== topic;
      if (!place || isOther || place.index !== partition || place.baseOffset < 0n)
        throw new AttemptError('unknown', `the answer does not confirm ${topic}[${partition}]`);
      return place.baseOffset;
    },
  };
}

const late = () => new AttemptError('late', 'not sent: a record has passed its deadline');

/**
 * The connection, with one more check once the batch is encoded: for 50 MB that takes a while, and a process may be frozen.
 * @param encode makes the request instead of the client
 */
function checked(connection: Connection, mayBegin: () => boolean, encode?: () => Writer): Connection {
  const send: Connection['send'] = (key, version, createPayload, ...rest) =>
    connection.send(
      key,
      version,
      () => {
        const payload = encode ? encode() : createPayload();
        if (!mayBegin()) throw late();
        return payload;
      },
      ...rest,
    );
  return { send } as Connection;
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

/**
 * Why one attempt to produce a batch did not end with a confirmation, and so what to do next:
 * - `unknown`: it may have been written or not: send the identical batch again, over a fresh client
 * - `retry`: the broker said that it was not written, and will take it later: send it again over the same client
 * - `replan`: the topic has another number of partitions than the queues: nothing was sent
 * - `late`: a record of the batch has passed its deadline or was given up: nothing was sent
 * - `split`: the batch is larger than the topic takes: halve it, or give the record up if it is alone
 * - `refused`: the brokers won't take it, however often it is sent
 */
export type AttemptOutcome = 'unknown' | 'retry' | 'replan' | 'late' | 'split' | 'refused';

export class AttemptError extends Error {
  readonly outcome: AttemptOutcome;
  constructor(outcome: AttemptOutcome, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AttemptError';
    this.outcome = outcome;
  }
}

/** Kafka's error codes whose meaning is certain. Whatever is not here has an unknown outcome. */
const OUTCOMES: Readonly<Record<string, AttemptOutcome>> = {
  MESSAGE_TOO_LARGE: 'split',
  RECORD_LIST_TOO_LARGE: 'split',
  TOPIC_AUTHORIZATION_FAILED: 'refused',
  CLUSTER_AUTHORIZATION_FAILED: 'refused',
  INVALID_TOPIC_EXCEPTION: 'refused',
  INVALID_RECORD: 'refused',
  INVALID_TIMESTAMP: 'refused',
  UNSUPPORTED_FOR_MESSAGE_FORMAT: 'refused',
  NOT_LEADER_OR_FOLLOWER: 'retry',
  LEADER_NOT_AVAILABLE: 'retry',
  UNKNOWN_TOPIC_OR_PARTITION: 'retry',
  NOT_ENOUGH_REPLICAS: 'retry',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'retry',
  THROTTLING_QUOTA_EXCEEDED: 'retry',
  KAFKA_STORAGE_ERROR: 'retry',
};

/** Reads a client's error, which may be nested in aggregates and causes. */
export function toAttemptError(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  const apiId = apiIdOf(error);
  const outcome = (apiId !== undefined && OUTCOMES[apiId]) || 'unknown';
  return new AttemptError(outcome, apiId ?? messageOf(error), { cause: error });
}

function messageOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof AggregateError && innermost.errors.length > 0) innermost = innermost.errors[0];
  return innermost instanceof Error ? innermost.message : String(innermost);
}
