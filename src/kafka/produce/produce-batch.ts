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
  protocolErrorsCodesById,
  ResponseError,
  TimeoutError,
  type Writer,
} from '@platformatic/kafka';
import type { Clock } from '../../runtime/clock.ts';
import { eachError } from '../../runtime/connection-fault.ts';
import { AttemptError, brokerRefusal } from './attempt-error.ts';
import { ALL_REPLICAS, type Batch, ENCODED_SINCE, encodeProduce, isEncodedHere } from './encode-batch.ts';

export type ProduceBatch = {
  /** Learns which versions of requests the broker takes, as the first batch over this connection would. */
  prepare(connection: Connection): Promise<void>;
  /**
   * Has the connection's broker write a batch. Those that are sent over it in the same turn of the event loop share a
   * request, but for those that are to be alone.
   * @returns the offset of the first record, when all in-sync replicas have the batch
   * @throws AttemptError `late` where `mayBegin` said no: then nothing was sent
   */
  send(connection: Connection, batch: Batch): Promise<bigint>;
  /** A failure to look something up, which says so where a broker reads no request of ours now, as it throttles this client. */
  explain(error: unknown): unknown;
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
type ProduceAnswer = Exclude<Awaited<ReturnType<ProduceApi['async']>>, boolean>;

/** Of the records in a shared request, where partitions are many. It stays smaller than a batch may be. */
const MAX_SHARED_BYTES = 524_288;
/** What brokers have for a shared request: then they confirm what they have, and one slow partition holds up the others no longer. */
const SHARED_TIMEOUT_MS = 1_000;

const THROTTLED =
  'no answer in time, as the brokers throttle this client: its quota (producer_byte_rate, request_percentage) is used up';

/** The client's text for a request, and not for a connection that could not be made. */
const UNANSWERED = 'Request timed out';

/** A batch that is about to be sent. */
type Sending = {
  readonly batch: Batch;
  readonly resolve: (offset: bigint) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Produces over the client's connections without its producer, which looks up the metadata and the connection once more
 * before it writes: a record could be written long after its deadline. From `mayBegin` to the socket all happens
 * in one turn of the event loop, as long as the connection has no limit of requests in flight.
 */
export function createProduceBatch(timeoutMs: number, clock: Clock): ProduceBatch {
  const known = new WeakMap<Connection, ProduceApi>();
  const asked = new WeakMap<Connection, Promise<ProduceApi>>();
  const ask = async (connection: Connection): Promise<ProduceApi> => {
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
  /** One question for all that begin over a new connection. */
  const apiOf = (connection: Connection): Promise<ProduceApi> => {
    const asking = asked.get(connection) ?? ask(connection).finally(() => asked.delete(connection));
    asked.set(connection, asking);
    return asking;
  };
  /** Until when a broker reads no request of a connection, as this client has used up its quota. */
  const throttled = new WeakMap<Connection, number>();
  let throttledUntil = Number.NEGATIVE_INFINITY;
  const explain = (error: unknown, until: number) => {
    const isUnanswered = eachError(error).some(
      (one) => one instanceof TimeoutError && one.message === UNANSWERED,
    );
    return isUnanswered && clock.now() < until ? new AttemptError('unknown', THROTTLED) : error;
  };
  /** What begins in this turn, by connection. */
  const gathered = new Map<Connection, { readonly all: Sending[]; bytes: number }>();
  const gather = (connection: Connection, api: ProduceApi, one: Sending) => {
    const { bytes } = one.batch;
    const others = gathered.get(connection);
    if (others && others.bytes + bytes <= MAX_SHARED_BYTES) {
      others.bytes += bytes;
      others.all.push(one);
      return;
    }
    const begun = { all: [one], bytes };
    gathered.set(connection, begun);
    void clock.tick().then(() => {
      if (gathered.get(connection) === begun) gathered.delete(connection);
      void sendTogether(connection, api, begun.all);
    });
  };
  const sendTogether = async (connection: Connection, api: ProduceApi, all: readonly Sending[]) => {
    const begun: Sending[] = [];
    for (const one of all) {
      if (one.batch.mayBegin()) begun.push(one);
      else one.reject(late());
    }
    if (begun.length === 0) return;
    try {
      const batches = begun.map(({ batch }) => batch);
      const judge = await produce(connection, api, batches);
      for (const { batch, resolve, reject } of begun) {
        const outcome = judge(batch);
        if (typeof outcome === 'bigint') resolve(outcome);
        else reject(outcome);
      }
    } catch (error) {
      const failure = explain(error, throttled.get(connection) ?? Number.NEGATIVE_INFINITY);
      for (const { reject } of begun) reject(failure);
    }
  };
  const produce = async (connection: Connection, api: ProduceApi, batches: readonly Batch[]) => {
    const encode =
      api.version >= ENCODED_SINCE && batches.every(isEncodedHere)
        ? () =>
            encodeProduce(batches, batches.length > 1 ? Math.min(timeoutMs, SHARED_TIMEOUT_MS) : timeoutMs)
        : undefined;
    const messages = encode ? [] : batches.flatMap(toMessages);
    const over = checked(connection, () => batches.every(({ mayBegin }) => mayBegin()), encode);
    const answer = await answerOf(api.async(over, ALL_REPLICAS, timeoutMs, messages, {}));
    if (answer?.throttleTimeMs) {
      const until = clock.now() + answer.throttleTimeMs;
      throttled.set(connection, until);
      throttledUntil = Math.max(throttledUntil, until);
    }
    return judgementOf(answer, batches);
  };
  return {
    async prepare(connection) {
      if (!known.has(connection)) await apiOf(connection);
    },
    async send(connection, batch) {
      const api = known.get(connection) ?? (await apiOf(connection));
      const isShared = !batch.isAlone && api.version >= ENCODED_SINCE && isEncodedHere(batch);
      return new Promise((resolve, reject) => {
        const one = { batch, resolve, reject };
        if (isShared) gather(connection, api, one);
        else void sendTogether(connection, api, [one]);
      });
    },
    explain: (error) => explain(error, throttledUntil),
  };
}

/** The broker's answer, also where the client throws because there is an error in it. */
async function answerOf(sent: Promise<ProduceAnswer | boolean>): Promise<ProduceAnswer | null> {
  try {
    const answer = await sent;
    return typeof answer === 'boolean' ? null : answer;
  } catch (error) {
    if (error instanceof ResponseError) return error.response as ProduceAnswer;
    throw error;
  }
}

/** Tells of each batch what the answer says. One that is not for the very partitions that were sent confirms nothing. */
function judgementOf(answer: ProduceAnswer | null, batches: readonly Batch[]) {
  const places = (answer?.responses ?? []).flatMap(({ name, partitionResponses }) =>
    partitionResponses.map((place) => [placeOf(name, place.index), place] as const),
  );
  const known = new Map(places);
  const isWhole = places.length === batches.length && known.size === batches.length;
  return ({ topic, partition }: Batch): bigint | AttemptError => {
    const place = isWhole ? known.get(placeOf(topic, partition)) : undefined;
    if (place && place.errorCode !== 0)
      return brokerRefusal(protocolErrorsCodesById[place.errorCode] ?? `error ${place.errorCode}`);
    const hasRecordErrors = place && 'recordErrors' in place && place.recordErrors.length > 0;
    if (place && place.baseOffset >= 0n && !hasRecordErrors) return place.baseOffset;
    return new AttemptError('unknown', `the answer does not confirm ${topic}[${partition}]`);
  };
}

const placeOf = (topic: string, partition: number) => `${topic}[${partition}]`;

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

const toMessages = ({ topic, partition, records }: Batch) =>
  records.map(({ key, value, headers, timestamp }) => ({
    topic,
    partition,
    key,
    timestamp,
    value: value as Buffer,
    headers: new Map(headers),
  }));
