import { hasCode } from '../../core/errors.ts';
import type { IncomingRecord, Position } from '../../core/record.ts';
import { type Clock, pause } from '../../runtime/clock.ts';
import { lengthOf } from '../connect/clip-values.ts';
import type { Fetched } from './read-answer.ts';
import { readPartitions } from './read-partitions.ts';
import { openStarted, type TopicDeps, type TopicFetcher } from './topic-fetcher.ts';

/** Offsets of one partition: from the first to the one before `to`. */
export type OffsetRange = { readonly partition: number; readonly from: bigint; readonly to: bigint };

const SILENT_MS = 30_000;
/** Answers without a record have fewer bytes in that time; of a large record more come. */
const SOME_BYTES = 1_048_576;

/** Opens a topic for readings of chosen ranges. Rejects where the brokers don't answer. */
export const openRanges = async (deps: TopicDeps): Promise<RangeReader> =>
  new RangeReader(deps, await openStarted(deps));

/** Opens a topic for one work. Where `signal` aborts before that has ended, its reading rejects. */
export async function withRanges<T>(
  deps: TopicDeps,
  work: (reader: RangeReader) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const reader = await openRanges(deps);
  const stop = () => void reader.stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    if (signal?.aborted) stop();
    return await work(reader);
  } finally {
    signal?.removeEventListener('abort', stop);
    await reader.stop();
  }
}

/** Reads chosen ranges of a topic, one reading after the other; between them it rests. */
export class RangeReader {
  readonly #clock: Clock;
  readonly #fetcher: TopicFetcher;
  readonly #stopping = new AbortController();

  constructor({ clock }: TopicDeps, fetcher: TopicFetcher) {
    this.#clock = clock;
    this.#fetcher = fetcher;
  }

  /** What the topic holds now. */
  async span(): Promise<OffsetRange[]> {
    const [oldest, end] = await Promise.all([this.#fetcher.offsets('oldest'), this.#fetcher.offsets('end')]);
    return [...oldest].map(([partition, from]) => ({ partition, from, to: end.get(partition) ?? from }));
  }

  /**
   * Hands over every record of these ranges that is still there, each once, each partition in order, and waits for
   * `onRecord` before it reads on. Rejects with what that throws, where no record, and nothing of a large one, comes for 30 s, and at a stop.
   * @param options.bytesPerSecond rests between the brokers' answers, so that no more is read; bodies count
   */
  async read(
    ranges: readonly OffsetRange[],
    onRecord: (record: IncomingRecord) => void | Promise<void>,
    { bytesPerSecond = Number.POSITIVE_INFINITY }: { readonly bytesPerSecond?: number } = {},
  ): Promise<void> {
    const clock = this.#clock;
    const open = new Map(
      ranges
        .filter(({ from, to }) => from < to)
        .map(({ partition, from, to }) => [partition, { next: from, to }]),
    );
    if (open.size === 0) return;
    const over = new AbortController();
    const { signal: stopped } = this.#stopping;
    const signal = AbortSignal.any([over.signal, stopped]);
    let failure: unknown;
    let lastFault: unknown;
    const end = (reason?: unknown) => {
      failure ??= reason;
      over.abort();
    };
    const receivedBytes = () => this.#fetcher.receivedBytes?.() ?? 0;
    let received = receivedBytes();
    const silence = () => {
      if (receivedBytes() - received >= SOME_BYTES) heard();
      else end(new Error(`no record came for ${SILENT_MS / 1_000} s`, { cause: lastFault }));
    };
    let watch = clock.after(SILENT_MS, silence);
    const heard = () => {
      watch.cancel();
      received = receivedBytes();
      watch = clock.after(SILENT_MS, silence);
    };
    const advance = (partition: number, next: bigint) => {
      const range = open.get(partition);
      if (!range || next <= range.next) return;
      heard();
      range.next = next;
      if (next >= range.to) open.delete(partition);
      if (open.size === 0) end();
    };
    const take = async ({ partition, records, next }: Fetched) => {
      const to = open.get(partition)?.to ?? 0n;
      try {
        for (const record of records) {
          const taken = record.offset < to ? onRecord(record) : undefined;
          if (!taken) continue;
          await taken;
          if (signal.aborted) return;
          heard();
        }
      } catch (error) {
        end(error);
      }
      advance(partition, next);
      if (!Number.isFinite(bytesPerSecond)) return;
      const bytes = records.reduce((sum, { value }) => sum + (value ? lengthOf(value) : 0), 0);
      if (bytes > 0) await pause(clock, (bytes / bytesPerSecond) * 1_000, signal);
    };
    const onFailure = (error: unknown) => {
      lastFault = error;
      if (hasCode(error, 'KAFKA_REFUSED')) end(error);
    };
    const reader = {
      next: (partition: number) => open.get(partition)?.next,
      take,
      moved: advance,
      onFailure,
    };
    await readPartitions(this.#fetcher, reader, { clock, signal });
    watch.cancel();
    stopped.throwIfAborted();
    if (failure) throw failure;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#fetcher.close();
  }
}

/** How many offsets these ranges have: at most so many records. */
export const offsetsIn = (ranges: readonly Pick<OffsetRange, 'from' | 'to'>[]): number =>
  ranges.reduce((sum, { from, to }) => sum + Number(to - from), 0);

/** Unwanted records between two wanted ones: up to this many, one range costs less than two. */
const GAP = 50n;

/** Ranges that cover these positions, grouped into passes over the topic: each pass has at most one range per partition. */
export function rangesOf(positions: readonly Pick<Position, 'partition' | 'offset'>[]): OffsetRange[][] {
  const readings: OffsetRange[][] = [];
  const byPartition = Map.groupBy(positions, ({ partition }) => partition);
  for (const [partition, wanted] of byPartition) {
    const offsets = wanted.map(({ offset }) => offset).sort((a, b) => Number(a - b));
    let round = 0;
    let range: { from: bigint; to: bigint } | undefined;
    const close = () => {
      if (!range) return;
      readings[round] ??= [];
      readings[round++]?.push({ partition, ...range });
    };
    for (const offset of offsets) {
      if (range && offset - range.to <= GAP) range.to = offset + 1n;
      else {
        close();
        range = { from: offset, to: offset + 1n };
      }
    }
    close();
  }
  return readings;
}
