import type { IncomingRecord } from '../../core/record.ts';
import {
  type OffsetRange,
  offsetsIn,
  openRanges,
  type RangeReader,
} from '../../kafka/consume/range-reader.ts';
import type { OpenTopic } from '../../kafka/consume/topic-fetcher.ts';
import { type Clock, pause } from '../../runtime/clock.ts';
import { type EventFilter, matches } from './filter.ts';

/** A topic that is open. */
type Reading = Pick<RangeReader, 'span' | 'read'>;

export type TailDeps = { readonly openTopic: OpenTopic; readonly clock: Clock };

/** The latest records of a topic that match, the latest first. */
export type Recent = {
  readonly records: readonly IncomingRecord[];
  /** Offsets that were looked at, and that the topic has. */
  readonly looked: number;
  readonly total: number;
};

/** Offsets that are looked at for matching records. */
const MAX_LOOKED = 5_000;
/** Of each partition at a time; of very many partitions fewer. */
const CHUNK = 100;

/** Reads back from the end of the topic until it has found enough, or has looked at the latest 5,000 records. */
export async function readRecent(reader: Reading, filter: EventFilter, limit: number): Promise<Recent> {
  const span = await reader.span();
  const total = offsetsIn(span);
  const most = isEmpty(filter) ? Math.min(CHUNK, limit) : CHUNK;
  let found: IncomingRecord[] = [];
  const keepLatest = () => {
    found = found.sort(latestFirst).slice(0, limit);
  };
  let looked = 0;
  let left = span.map((range) => ({ ...range, earliest: Number.POSITIVE_INFINITY }));
  while (looked < MAX_LOOKED) {
    // What a partition still has is older than what was read of it.
    const since = found[limit - 1]?.timestamp ?? Number.NEGATIVE_INFINITY;
    left = left.filter(({ from, to, earliest }) => from < to && earliest >= since);
    if (left.length === 0) break;
    const chunk = BigInt(Math.max(1, Math.min(most, Math.floor(MAX_LOOKED / 2 / left.length))));
    const ranges = left.map(({ partition, from, to }) => ({
      partition,
      from: to - chunk > from ? to - chunk : from,
      to,
    }));
    const earliest = new Map<number, number>();
    await reader.read(ranges, (record) => {
      if (!earliest.has(record.partition)) earliest.set(record.partition, record.timestamp);
      if (matches(record, filter)) found.push(record);
      if (found.length > 10 * limit) keepLatest();
    });
    keepLatest();
    looked += offsetsIn(ranges);
    left = left.map((range, n) => ({
      ...range,
      to: ranges[n]?.from ?? range.from,
      earliest: earliest.get(range.partition) ?? range.earliest,
    }));
  }
  return { records: found, looked, total };
}

/** One record; null where it is not there. */
export async function readOne(
  reader: Reading,
  { partition, offset }: { readonly partition: number; readonly offset: bigint },
): Promise<IncomingRecord | null> {
  const span = (await reader.span()).find((range) => range.partition === partition);
  if (!span || offset < span.from || offset >= span.to) return null;
  let found: IncomingRecord | null = null;
  await reader.read([{ partition, from: offset, to: offset + 1n }], (record) => {
    if (record.offset === offset) found = record;
  });
  return found;
}

const POLL_MS = 1_000;
/** Records that are read of what came since the last look, of each partition and of all: who looks on reads no more in that time. */
const MAX_OF_PARTITION = 100;
const MAX_AT_ONCE = 1_000;

/** What came since the last look. */
export type News = {
  readonly records: readonly IncomingRecord[];
  /** Records that came faster than they are shown. */
  readonly skipped: number;
};

/** Follows a topic until `signal` aborts: first nothing, as soon as its end is known. A failure is thrown. */
export async function* followTail(
  deps: TailDeps,
  topic: string,
  filter: EventFilter,
  signal: AbortSignal,
): AsyncIterable<News> {
  const reader = await openRanges({ ...deps, topic });
  try {
    let at = ends(await reader.span());
    yield { records: [], skipped: 0 };
    while (!signal.aborted) {
      const span = await reader.span();
      const news = span.flatMap(({ partition, from, to }): OffsetRange[] => {
        const begin = at.get(partition) ?? from;
        return begin < to ? [{ partition, from: begin, to }] : [];
      });
      const most = BigInt(Math.max(1, Math.min(MAX_OF_PARTITION, Math.floor(MAX_AT_ONCE / news.length))));
      const ranges = news.map((range) => ({
        ...range,
        from: range.to - range.from > most ? range.to - most : range.from,
      }));
      const skipped = ranges.reduce(
        (sum, { partition, from }) => sum + Number(from - (at.get(partition) ?? from)),
        0,
      );
      at = ends(span);
      const records = await readMatching(reader, ranges, filter);
      if (records.length > 0 || skipped > 0) yield { records, skipped };
      await pause(deps.clock, POLL_MS, signal);
    }
  } finally {
    await reader.stop();
  }
}

async function readMatching(reader: RangeReader, ranges: readonly OffsetRange[], filter: EventFilter) {
  const records: IncomingRecord[] = [];
  await reader.read(ranges, (record) => {
    if (matches(record, filter)) records.push(record);
  });
  return records.sort((a, b) => -latestFirst(a, b));
}

const ends = (span: readonly OffsetRange[]) => new Map(span.map(({ partition, to }) => [partition, to]));

const isEmpty = (filter: EventFilter) => Object.values(filter).every((value) => value === undefined);

const latestFirst = (a: IncomingRecord, b: IncomingRecord) =>
  b.timestamp - a.timestamp || b.partition - a.partition || Number(b.offset - a.offset);
