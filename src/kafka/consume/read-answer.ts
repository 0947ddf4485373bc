import type { Consumer, KafkaRecord, RecordsBatch } from '@platformatic/kafka';
import type { IncomingRecord } from '../../core/record.ts';

export type Fetched = {
  readonly partition: number;
  readonly records: readonly IncomingRecord[];
  /** Everything before this offset is in `records`, or is no record: of an aborted transaction, compacted away. */
  readonly next: bigint;
};

type FetchResponse = Awaited<ReturnType<Consumer['fetch']>>;
type FetchedPartition = FetchResponse['responses'][number]['partitions'][number];
type Answer = Pick<FetchResponse, 'responses' | 'throttleTimeMs'>;

/** Partitions that have more, of which a broker has nothing to give: no record is left of it, or it is in tiered storage. */
export function gapsIn(
  { responses, throttleTimeMs }: Answer,
  from: ReadonlyMap<number, bigint>,
): readonly number[] {
  const partitions = responses.flatMap((response) => response.partitions);
  // A broker that throttles answers at once, with nothing.
  if (throttleTimeMs !== 0 || partitions.some(({ records }) => (records ?? []).length > 0)) return [];
  return partitions
    .filter(
      ({ partitionIndex: at, lastStableOffset }) => lastStableOffset > (from.get(at) ?? lastStableOffset),
    )
    .map(({ partitionIndex }) => partitionIndex);
}

/** @param localStarts of partitions with gaps, where known: the first offset that the broker itself has */
export function readAnswer(
  topic: string,
  answer: Answer,
  from: ReadonlyMap<number, bigint>,
  localStarts: readonly bigint[],
): Fetched[] {
  const gaps = new Set(gapsIn(answer, from));
  return answer.responses.flatMap(({ partitions }) =>
    partitions.flatMap((fetched) => {
      const { partitionIndex: partition, lastStableOffset } = fetched;
      const position = from.get(partition);
      if (position === undefined) return [];
      const last = fetched.records?.at(-1);
      const behind = last ? last.firstOffset + BigInt(last.lastOffsetDelta) + 1n : position;
      // What lies up to there is no record any more: compaction may leave nothing at the end of a log. An answer is empty too
      // where tiered storage has not answered in time (KIP-1018): that is asked for again.
      const isGap = gaps.has(partition) && position >= (localStarts[partition] ?? 0n);
      const next = isGap ? lastStableOffset : behind;
      const records = committedBatches(fetched)
        .flatMap((batch) => batch.records.map((record) => toIncomingRecord(topic, partition, batch, record)))
        .filter(({ offset }) => offset >= position);
      return [{ partition, records, next: next > position ? next : position }];
    }),
  );
}

const IS_TRANSACTIONAL = 0x10;
const IS_CONTROL = 0x20;
const HAS_APPEND_TIME = 0x08;

/**
 * Without those of aborted transactions, and without the markers that end transactions. The client leaves records in whose
 * marker is in a later answer, and those of all but one aborted transaction of a producer.
 */
function committedBatches({ records, abortedTransactions }: FetchedPartition): RecordsBatch[] {
  const begins = [...(abortedTransactions ?? [])].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  const aborted = new Set<bigint>();
  return (records ?? []).filter((batch) => {
    const end = batch.firstOffset + BigInt(batch.lastOffsetDelta);
    while (begins[0] && begins[0].firstOffset <= end)
      aborted.add((begins.shift() as { producerId: bigint }).producerId);
    if (batch.attributes & IS_CONTROL) {
      aborted.delete(batch.producerId);
      return false;
    }
    return !(batch.attributes & IS_TRANSACTIONAL && aborted.has(batch.producerId));
  });
}

function toIncomingRecord(
  topic: string,
  partition: number,
  batch: RecordsBatch,
  { key, value, headers, offsetDelta, timestampDelta }: KafkaRecord,
): IncomingRecord {
  const timestamp =
    batch.attributes & HAS_APPEND_TIME ? batch.maxTimestamp : batch.firstTimestamp + timestampDelta;
  return {
    topic,
    partition,
    offset: batch.firstOffset + BigInt(offsetDelta),
    key: key ?? null,
    value: value ?? null,
    headers: Object.fromEntries(headers.flatMap(([name, text]) => (text ? [[`${name}`, `${text}`]] : []))),
    timestamp: Number(timestamp),
  };
}
