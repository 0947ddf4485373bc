import { describe, expect, it } from 'vitest';
import { readAnswer } from '../../../src/kafka/consume/read-answer.ts';

type Answer = Parameters<typeof readAnswer>[1];
type Partition = Answer['responses'][number]['partitions'][number];
type Batch = NonNullable<Partition['records']>[number];

const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** A batch of records whose values are their offsets. */
const batch = (firstOffset: number, count: number, more: Partial<Batch> = {}): Batch =>
  ({
    firstOffset: BigInt(firstOffset),
    lastOffsetDelta: count - 1,
    attributes: 0,
    producerId: -1n,
    firstTimestamp: 5_000n,
    maxTimestamp: 9_000n,
    records: Array.from({ length: count }, (_, n) => ({
      length: 0,
      attributes: 0,
      timestampDelta: BigInt(n),
      offsetDelta: n,
      key: Buffer.from('k'),
      value: Buffer.from(String(firstOffset + n)),
      headers: [],
    })),
    ...more,
  }) as Batch;

const of = (producerId: bigint, more: Partial<Batch> = {}) => ({
  producerId,
  attributes: TRANSACTIONAL,
  ...more,
});
const marker = (offset: number, producerId: bigint) =>
  batch(offset, 1, of(producerId, { attributes: TRANSACTIONAL | CONTROL }));

function read(
  records: readonly Batch[] | null,
  more: Partial<Partition> = {},
  from = 0,
  { throttleTimeMs = 0, localStart = 0 } = {},
) {
  const partition = {
    partitionIndex: 0,
    lastStableOffset: 0n,
    abortedTransactions: [],
    records,
    ...more,
  };
  const answer = {
    throttleTimeMs,
    responses: [{ topicId: '', partitions: [partition as unknown as Partition] }],
  };
  const [fetched] = readAnswer('t', answer, new Map([[0, BigInt(from)]]), [BigInt(localStart)]);
  return { values: fetched?.records.map(({ value }) => Number(value)), next: Number(fetched?.next), fetched };
}

describe('an answer with records', () => {
  it('gives those from the position on, and the offset behind the last', () => {
    expect(read([batch(0, 3), batch(3, 2)], {}, 1)).toMatchObject({ values: [1, 2, 3, 4], next: 5 });
  });

  it('gives texts of headers, of one that came several times the last, and the times', () => {
    const headers = [
      ['a', '1'],
      ['a', '2'],
      ['b', ''],
    ].map((pair) => pair.map((text) => Buffer.from(text)));
    const [record] = batch(0, 1).records;
    const own = { ...record, headers } as Batch['records'][number];
    const { fetched } = read([
      batch(0, 1, { records: [own, { ...own, offsetDelta: 1, timestampDelta: 7n }] }),
    ]);
    expect(fetched?.records).toMatchObject([
      { topic: 't', partition: 0, offset: 0n, headers: { a: '2', b: '' }, timestamp: 5_000 },
      { offset: 1n, timestamp: 5_007 },
    ]);
    expect(read([batch(0, 1, { attributes: 0x08 })]).fetched?.records).toMatchObject([{ timestamp: 9_000 }]);
  });

  it('moves on behind what compaction has taken from the middle or the end of a batch', () => {
    const [first] = batch(0, 1).records as [Batch['records'][number]];
    expect(read([batch(0, 5, { records: [first] })])).toMatchObject({ values: [0], next: 5 });
    expect(read([], { lastStableOffset: 9n }, 5)).toMatchObject({ values: [], next: 9 });
    expect(read(null, { lastStableOffset: 9n }, 5)).toMatchObject({ values: [], next: 9 });
  });

  it('stays where a broker throttles', () => {
    expect(read(null, { lastStableOffset: 9n }, 5, { throttleTimeMs: 100 })).toMatchObject({
      values: [],
      next: 5,
    });
  });
});

it('an empty answer of what is in tiered storage passes over nothing: the storage has not answered in time', () => {
  const answerAt = (localStart: number) => read([], { lastStableOffset: 9n }, 5, { localStart });
  expect([answerAt(6), answerAt(5)]).toMatchObject([{ next: 5 }, { next: 9 }]);
});

describe('an answer with transactions', () => {
  it('leaves out the aborted ones, and the markers that end them', () => {
    const records = [batch(0, 2, of(7n)), batch(2, 1), marker(3, 7n), batch(4, 1, of(7n)), marker(5, 7n)];
    expect(read(records, { abortedTransactions: [{ producerId: 7n, firstOffset: 0n }] })).toMatchObject({
      values: [2, 4],
      next: 6,
    });
  });

  it('leaves out several of one producer, with a committed one between them', () => {
    const records = [
      ...[batch(0, 1, of(7n)), marker(1, 7n), batch(2, 1, of(7n)), marker(3, 7n)],
      ...[batch(4, 1, of(7n)), marker(5, 7n), batch(6, 1, of(8n)), marker(7, 8n)],
    ];
    const abortedTransactions = [
      { producerId: 7n, firstOffset: 4n },
      { producerId: 7n, firstOffset: 0n },
    ];
    expect(read(records, { abortedTransactions })).toMatchObject({ values: [2, 6], next: 8 });
  });

  it('leaves out one whose marker is in a later answer, and one that began in an earlier one', () => {
    const abortedTransactions = [{ producerId: 7n, firstOffset: 0n }];
    expect(read([batch(0, 2, of(7n))], { abortedTransactions })).toMatchObject({ values: [], next: 2 });
    expect(read([batch(2, 1, of(7n)), marker(3, 7n)], { abortedTransactions }, 2)).toMatchObject({
      values: [],
      next: 4,
    });
  });
});

it('a partition that was not asked for is left out', () => {
  const partition = {
    partitionIndex: 1,
    records: [batch(0, 1)],
    lastStableOffset: 1n,
  } as unknown as Partition;
  const answer = { throttleTimeMs: 0, responses: [{ topicId: '', partitions: [partition] }] };
  expect(readAnswer('t', answer, new Map([[0, 0n]]), [])).toEqual([]);
});
