import type { Connection } from '@platformatic/kafka';
import { produceV11, Reader, ResponseError, readRecordsBatch } from '@platformatic/kafka';
import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/kafka/produce/encode-batch.ts';
import { createProduceBatch } from '../../../src/kafka/produce/produce-batch.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

type Place = { index: number; errorCode: number; baseOffset: bigint };
type Answer = { responses: { name: string; partitionResponses: Place[] }[] };
type Callback = (error: Error | null, answer?: unknown) => void;

const PRODUCE = 0;

/** A connection to a broker that takes Produce up to version 11, or another one; `answers` says what it answers to requests for these partitions. */
class ScriptedConnection {
  /** Of each request, the partitions by topic, as `t[0]`. */
  readonly requests: string[][] = [];
  readonly maxVersion: number;
  readonly answers: (places: readonly string[]) => Answer | Error;

  constructor(answers: (places: readonly string[]) => Answer | Error = confirmed, maxVersion = 11) {
    this.answers = answers;
    this.maxVersion = maxVersion;
  }

  send(key: number, _version: number, payload: () => { buffer: Buffer }, ...rest: unknown[]): boolean {
    const callback = rest.at(-1) as Callback;
    if (key !== PRODUCE) {
      const range = { apiKey: PRODUCE, minVersion: 0, maxVersion: this.maxVersion };
      queueMicrotask(() => callback(null, { errorCode: 0, apiKeys: [range] }));
      return true;
    }
    let places: string[];
    try {
      places = placesIn(payload().buffer, this.maxVersion);
    } catch (error) {
      callback(error as Error);
      return true;
    }
    this.requests.push(places);
    const answer = this.answers(places);
    if (answer instanceof Error) setImmediate(() => callback(answer));
    else setImmediate(() => callback(null, answer));
    return true;
  }
}

/** Reads the flexible form, and of an older one only that it was sent. */
function placesIn(request: Buffer, version: number): string[] {
  if (version < 9) return ['old'];
  const reader = Reader.from(request);
  reader.readNullableString();
  reader.readInt16();
  reader.readInt32();
  const topics = reader.readArray(
    (r) => {
      const name = r.readString();
      const partitions = r.readArray(
        (r) => {
          const index = r.readInt32();
          readRecordsBatch(Reader.from(r.readBytes() as Buffer));
          r.readTaggedFields();
          return `${name}[${index}]`;
        },
        true,
        false,
      );
      r.readTaggedFields();
      return partitions;
    },
    true,
    false,
  );
  return (topics as unknown as string[][]).flat();
}

function confirmed(places: readonly string[]): Answer {
  const responses = places.map((place) => {
    const [, name = '', index = ''] = /^(.*)\[(\d+)\]$/.exec(place) ?? [];
    const partition = { index: Number(index), errorCode: 0, baseOffset: BigInt(Number(index) * 10) };
    return { name, partitionResponses: [partition] };
  });
  return { responses };
}

/** As the client throws where a partition has an error. */
function withError(answer: Answer, at: number, errorCode: number): ResponseError {
  const place = answer.responses[at]?.partitionResponses[0] as Place;
  Object.assign(place, { errorCode, baseOffset: -1n });
  const errors = { [`/responses/${at}/partition_responses/0`]: [errorCode, null] };
  return new ResponseError(PRODUCE, produceV11.api.version, errors as never, answer as never);
}

const batchOf = (partition: number, more: Partial<Batch> = {}): Batch => ({
  topic: 't',
  partition,
  bytes: 0,
  isAlone: false,
  mayBegin: () => true,
  records: [{ key: Buffer.from('k'), value: Buffer.from('v'), headers: new Map(), timestamp: 1n }],
  ...more,
});

/** What becomes of batches that are sent over a connection in one turn. */
const sentTogether = (connection: ScriptedConnection, batches: readonly Batch[]) => {
  const produce = createProduceBatch(1_000, systemClock);
  return Promise.allSettled(batches.map((one) => produce.send(connection as unknown as Connection, one)));
};

describe('batches that are sent over one connection in one turn', () => {
  it('share a request, whatever their topic, and each gets its own place', async () => {
    const connection = new ScriptedConnection();
    const fates = await sentTogether(connection, [batchOf(1), batchOf(2, { topic: 'u' }), batchOf(3)]);
    expect(connection.requests).toEqual([['t[1]', 't[3]', 'u[2]']]);
    expect(fates.map((fate) => fate.status === 'fulfilled' && fate.value)).toEqual([10n, 20n, 30n]);
  });

  it('share none with those of the next turn, with one that is to be alone, or with a single large record', async () => {
    const connection = new ScriptedConnection();
    const produce = createProduceBatch(1_000, systemClock);
    const send = (batch: Batch) => produce.send(connection as unknown as Connection, batch);
    await produce.prepare(connection as unknown as Connection);
    const first = send(batchOf(0));
    await systemClock.turn();
    const record = { key: Buffer.from('k'), headers: new Map(), timestamp: 1n };
    const large = batchOf(2, { records: [{ ...record, value: Buffer.alloc(100_000) }] });
    const others = [batchOf(1, { isAlone: true }), large, batchOf(3), batchOf(4)].map(send);
    await Promise.all([first, ...others]);
    expect(connection.requests.toSorted()).toEqual([['t[0]'], ['t[1]'], ['t[2]'], ['t[3]', 't[4]']]);
  });

  it('are many requests where partitions are many', async () => {
    const connection = new ScriptedConnection();
    const fates = await sentTogether(
      connection,
      Array.from({ length: 70 }, (_, partition) => batchOf(partition, { bytes: 16_384 })),
    );
    expect(connection.requests.map(({ length }) => length)).toEqual([32, 32, 6]);
    expect(fates.every(({ status }) => status === 'fulfilled')).toBe(true);
  });

  it('go each by itself to a broker from before Kafka 2.4', async () => {
    const old = () => ({
      responses: [{ name: 't', partitionResponses: [{ index: 0, errorCode: 0, baseOffset: 7n }] }],
    });
    const connection = new ScriptedConnection(old, 8);
    const fates = await sentTogether(connection, [batchOf(0), batchOf(0)]);
    expect(connection.requests).toEqual([['old'], ['old']]);
    expect(fates).toMatchObject([{ value: 7n }, { value: 7n }]);
  });

  it('fail alone where the broker has an error for one of them', async () => {
    const connection = new ScriptedConnection((places) => withError(confirmed(places), 1, 6));
    const fates = await sentTogether(connection, [batchOf(0), batchOf(1, { topic: 'u' })]);
    expect(fates).toMatchObject([
      { value: 0n },
      { reason: { outcome: 'retry', message: 'NOT_LEADER_OR_FOLLOWER' } },
    ]);
  });

  it('are in doubt where the answer confirms one, and names errors of its records beside that', async () => {
    const connection = new ScriptedConnection((places) => {
      const answer = confirmed(places);
      Object.assign(answer.responses[0]?.partitionResponses[0] ?? {}, { recordErrors: [{ batchIndex: 0 }] });
      return answer;
    });
    const fates = await sentTogether(connection, [batchOf(0), batchOf(1)]);
    expect(fates).toMatchObject([{ reason: { outcome: 'unknown' } }, { value: 10n }]);
  });

  it('are all in doubt where nobody knows what became of the request', async () => {
    const fates = await sentTogether(new ScriptedConnection(() => new Error('reset')), [
      batchOf(0),
      batchOf(1),
    ]);
    expect(fates).toMatchObject([{ reason: { message: 'reset' } }, { reason: { message: 'reset' } }]);
  });

  it.each([
    ['one is missing', (all: Answer) => ({ responses: all.responses.slice(1) })],
    [
      'one is there twice',
      (all: Answer) => ({ responses: [...all.responses.slice(1), ...all.responses.slice(1)] }),
    ],
    [
      'another is there',
      (all: Answer) => ({ responses: [...all.responses, ...confirmed(['t[9]']).responses] }),
    ],
    ['there is none', () => ({ responses: [] })],
  ])('are all in doubt after an answer in which %s', async (_, change) => {
    const connection = new ScriptedConnection((places) => change(confirmed(places)));
    const fates = await sentTogether(connection, [batchOf(0), batchOf(1)]);
    expect(fates.map((fate) => fate.status === 'rejected' && fate.reason.outcome)).toEqual([
      'unknown',
      'unknown',
    ]);
  });

  it('leave out one whose time is over, and send nothing when the time of one ends while they are encoded', async () => {
    const connection = new ScriptedConnection();
    const fates = await sentTogether(connection, [batchOf(0, { mayBegin: () => false }), batchOf(1)]);
    expect(connection.requests).toEqual([['t[1]']]);
    expect(fates).toMatchObject([{ reason: { outcome: 'late' } }, { value: 10n }]);
    let looks = 0;
    const ended = await sentTogether(connection, [batchOf(0), batchOf(1, { mayBegin: () => ++looks < 2 })]);
    expect(connection.requests).toHaveLength(1);
    expect(ended).toMatchObject([{ reason: { outcome: 'late' } }, { reason: { outcome: 'late' } }]);
  });
});
