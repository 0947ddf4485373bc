import { isRegistryUnavailable, leadingFieldsOf, type RecordReader } from '../../avro/record-reader.ts';
import { readFields, type TopicKind } from '../../cli/inspect/describe-record.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { type OffsetRange, RangeReader } from '../../kafka/consume/range-reader.ts';
import { type OpenTopic, openStarted, type TopicFetcher } from '../../kafka/consume/topic-fetcher.ts';
import type { Clock } from '../../runtime/clock.ts';
import { StateFence } from '../../subscriptions/state-fence.ts';
import type { IndexFile } from './index-file.ts';
import type { Covered, Entry } from './segments.ts';
import { hashOf, needsDecoding, termsOf } from './terms.ts';

export type ReadTopicDeps = {
  readonly openTopic: OpenTopic;
  readonly clock: Clock;
  readonly file: IndexFile;
  readonly read: RecordReader;
  /** Records of a topic that are indexed at most: of a longer one, the latest. */
  readonly maxRecords: number;
};

/** Of one partition: what there is, and what of it can be found by the index. */
export type PartitionCoverage = {
  readonly partition: number;
  readonly oldest: number;
  readonly end: number;
  readonly first: number;
  readonly next: number;
};

/**
 * Offsets of all partitions that are read before another topic has its turn. Those of the state wait in memory. Of few offsets a broker
 * gives the whole batch each time, and teams choose how many records that has: 150,000 in a megabyte.
 */
const SLICE = 60_000;
const STATE_SLICE = 1_200;
/** Entries that are stored together: the event loop stands still for some 10 ms. */
const MAX_ENTRIES = 1_000;
const LOOK_UP_AFTER_MS = 30_000;

/** Opens a topic for the index. Rejects where the brokers do not answer. */
export async function openIndexedTopic(
  deps: ReadTopicDeps,
  topic: string,
  kind: TopicKind,
): Promise<IndexedTopic> {
  return new IndexedTopic(deps, topic, kind, await openStarted({ ...deps, topic }));
}

/** Reads one topic into the index, slice by slice. */
export class IndexedTopic {
  readonly kind: TopicKind;
  coverage: readonly PartitionCoverage[] = [];
  readonly #deps: ReadTopicDeps;
  readonly #topic: string;
  readonly #fetcher: TopicFetcher;
  readonly #reader: RangeReader;
  #fence = new StateFence();
  #topicId = '';
  #oldest: ReadonlyMap<number, bigint> = new Map();
  #lookedUpAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ReadTopicDeps, topic: string, kind: TopicKind, fetcher: TopicFetcher) {
    this.kind = kind;
    this.#deps = deps;
    this.#topic = topic;
    this.#fetcher = fetcher;
    this.#reader = new RangeReader({ ...deps, topic }, fetcher);
    // Which of its records count is known to who reads it from the beginning. It is compacted, and small.
    if (kind === 'state') deps.file.forget(topic);
  }

  /** Reads the next slice of each partition. Whether more is there. */
  async readOn(): Promise<boolean> {
    await this.#look();
    const behind = this.coverage.filter(({ next, end }) => next < end);
    if (behind.length === 0) return false;
    const slice = Math.ceil((this.kind === 'state' ? STATE_SLICE : SLICE) / behind.length);
    const ranges = behind.map(({ partition, next, end }) => ({
      partition,
      from: BigInt(next),
      to: BigInt(Math.min(next + slice, end)),
    }));
    await (this.kind === 'state' ? this.#readState(ranges) : this.#readEach(ranges));
    this.#store([], new Map(ranges.map(({ partition, to }) => [partition, Number(to)])));
    return this.coverage.some(({ next, end }) => next < end);
  }

  stop = (): Promise<void> => this.#reader.stop();

  /** What there is now, and what is covered of it. */
  async #look(): Promise<void> {
    const { clock, file, maxRecords } = this.#deps;
    const isDue = clock.now() - this.#lookedUpAt > LOOK_UP_AFTER_MS;
    if (isDue) {
      const { topicId } = await this.#fetcher.lookUp();
      // One that was deleted and created anew is read from its beginning.
      if (topicId !== this.#topicId) this.#fence = new StateFence();
      this.#topicId = topicId;
      this.#oldest = await this.#fetcher.offsets('oldest');
      this.#lookedUpAt = clock.now();
    }
    const ends = await this.#fetcher.offsets('end');
    const perPartition = Math.ceil(maxRecords / Math.max(1, ends.size));
    const look = (): PartitionCoverage[] => {
      const known = new Map(file.covered(this.#topic, this.#topicId).map((one) => [one.partition, one]));
      return [...ends].map(([partition, last]) => {
        const end = Number(last);
        const oldest = Number(this.#oldest.get(partition) ?? 0n);
        const begin = Math.max(oldest, end - perPartition);
        const { first, next } = known.get(partition) ?? { first: begin, next: begin };
        return { partition, oldest, end, first: Math.max(first, oldest), next: Math.max(next, oldest) };
      });
    };
    this.coverage = look();
    // A gap would be taken for covered; offsets beyond the end are of records that a broker has lost.
    const isBroken = this.coverage.some(({ next, end }) => end - next > perPartition || next > end);
    if (!isBroken) return;
    file.forget(this.#topic);
    this.#fence = new StateFence();
    this.coverage = look();
  }

  async #readEach(ranges: readonly OffsetRange[]): Promise<void> {
    let entries: Entry[] = [];
    const next = new Map<number, number>();
    const add = (record: IncomingRecord, fields?: Readonly<Record<string, unknown>>) => {
      this.#addTo(entries, record, fields);
      next.set(record.partition, Number(record.offset) + 1);
      if (entries.length < MAX_ENTRIES) return;
      this.#store(entries, next);
      entries = [];
    };
    await this.#reader.read(ranges, (record) => {
      if (record.value === null || !needsDecoding(this.kind)) return add(record);
      return this.#fieldsOf(record.value).then((fields) => add(record, fields));
    });
    this.#store(entries, next);
  }

  async #readState(ranges: readonly OffsetRange[]): Promise<void> {
    const records: IncomingRecord[] = [];
    await this.#reader.read(ranges, (record) => void records.push(record));
    const fields: Readonly<Record<string, unknown>>[] = [];
    for (const { value } of records) fields.push(await this.#fieldsOf(value));
    const entries: Entry[] = [];
    // When nothing can fail any more: records that come again are judged by those that came after them.
    for (const [n, record] of records.entries()) {
      const verdict = this.#fence.check(record);
      if (verdict !== 'own') this.#addTo(entries, record, fields[n], verdict === 'fenced');
    }
    this.#store(entries, new Map());
  }

  /** @throws where the registry does not answer: what it would tell is not skipped */
  async #fieldsOf(value: Buffer | null): Promise<Readonly<Record<string, unknown>>> {
    if (value === null) return {};
    if (value[0] !== 0) return (await readFields(value, this.#deps.read)) ?? {};
    try {
      return await this.#deps.read(value);
    } catch (error) {
      if (isRegistryUnavailable(error)) throw error;
      // The beginning of a value that is too large to be read whole has its ids.
      return leadingFieldsOf(error);
    }
  }

  #addTo(
    entries: Entry[],
    record: IncomingRecord,
    fields?: Readonly<Record<string, unknown>>,
    isLate = false,
  ): void {
    const { partition, timestamp: time } = record;
    const offset = Number(record.offset);
    for (const term of termsOf(this.kind, record, fields))
      entries.push({ term: hashOf(term), partition, offset, time, isLate });
  }

  #store(entries: readonly Entry[], next: ReadonlyMap<number, number>): void {
    const covered = this.coverage.flatMap(({ partition, first }): Covered[] => {
      const to = next.get(partition);
      return to === undefined ? [] : [{ partition, first, next: to }];
    });
    this.#deps.file.add(this.#topic, this.#topicId, entries, covered);
    // The file may have dropped its oldest entries.
    const held = new Map(
      this.#deps.file.covered(this.#topic, this.#topicId).map((one) => [one.partition, one.first]),
    );
    this.coverage = this.coverage.map((one) => ({
      ...one,
      first: Math.max(one.first, held.get(one.partition) ?? 0),
      next: next.get(one.partition) ?? one.next,
    }));
  }
}
