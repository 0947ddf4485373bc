import { type Lease, type LeasedWork, workUnderLeases } from '../core/lease.ts';
import { openRanges, type RangeReader } from '../kafka/consume/range-reader.ts';
import type { TopicDeps } from '../kafka/consume/topic-fetcher.ts';
import { pause } from '../runtime/clock.ts';
import { orAborted } from '../runtime/or-aborted.ts';
import { type OpenCount, OpenDeadLetters } from './open-dead-letters.ts';

/** What one count has found. Seconds. */
export type Counted = Pick<OpenCount, 'byStage'> & {
  /** Age of the oldest that is open; 0 where none is. */
  readonly oldestSeconds: number;
  /** How long the topic keeps records; null where that is not known. */
  readonly retentionSeconds: number | null;
};

export type CountOpenDeps = TopicDeps & {
  /** How long the topic keeps records, in milliseconds; null where that is not known. */
  readonly retentionMs: () => Promise<number | null>;
  readonly onCounted: (counted: Counted) => void;
  /** This process does not count now: what it has counted before is no longer to be shown. */
  readonly onStandby: () => void;
  /** A count came to nothing; the next one comes all the same. */
  readonly onFailure: (error: unknown) => void;
  readonly intervalMs?: number;
  /** Records and markers that are held. */
  readonly maxRecords?: number;
  readonly bytesPerSecond?: number;
};

const INTERVAL_MS = 60_000;
/** The bodies come with the records: a topic of 1 GB is read within two minutes, at the start; later only what is new. */
const BYTES_PER_SECOND = 10_000_000;

/**
 * Counts open dead-letter records while this process works. Everything is counted anew after each takeover, from the topic
 * alone: nothing has to survive a restart.
 */
export const countOpen = (deps: CountOpenDeps): LeasedWork =>
  workUnderLeases((lease) => countUntilEnd(deps, lease), deps.onStandby);

async function countUntilEnd(deps: CountOpenDeps, { signal }: Lease): Promise<void> {
  const { clock, intervalMs = INTERVAL_MS } = deps;
  const counter = new OpenCounter(deps);
  while (!signal.aborted) {
    try {
      // Silent brokers are asked for longer than a stop may take.
      const { byStage, oldestAt } = await orAborted(counter.count(signal), signal);
      const oldestSeconds = oldestAt === null ? 0 : Math.max(0, (clock.wall() - oldestAt) / 1_000);
      const retentionMs = await orAborted(deps.retentionMs(), signal).catch(() => null);
      const retentionSeconds = retentionMs === null ? null : retentionMs / 1_000;
      if (!signal.aborted) deps.onCounted({ byStage, oldestSeconds, retentionSeconds });
      if (counter.readAgain()) continue;
    } catch (error) {
      if (!signal.aborted) deps.onFailure(error);
    }
    await pause(clock, intervalMs, signal);
  }
  await counter.stop();
}

/** Follows the topic: each count reads what was written since the last one. */
class OpenCounter {
  readonly #deps: CountOpenDeps;
  #open: OpenDeadLetters;
  /** By partition, the offset behind the last record that was taken. */
  readonly #positions = new Map<number, bigint>();
  #reader: RangeReader | undefined;

  constructor(deps: CountOpenDeps) {
    this.#deps = deps;
    this.#open = new OpenDeadLetters(deps.maxRecords);
  }

  async count(signal: AbortSignal): Promise<OpenCount> {
    this.#reader ??= await openRanges({ ...this.#deps, opening: signal });
    const reader = this.#reader;
    const stop = () => void reader.stop();
    signal.addEventListener('abort', stop);
    try {
      signal.throwIfAborted();
      const span = await reader.span();
      if (span.some(({ partition, to }) => to < this.#next(partition))) this.#beginAnew();
      const { bytesPerSecond = BYTES_PER_SECOND } = this.#deps;
      const ranges = span.map(({ partition, from, to }) => {
        const next = this.#next(partition);
        return { partition, from: next > from ? next : from, to };
      });
      const take = (record: Parameters<OpenDeadLetters['take']>[0]) => {
        this.#open.take(record);
        this.#positions.set(record.partition, record.offset + 1n);
      };
      await reader.read(ranges, take, { bytesPerSecond });
      return this.#open.count(new Map(span.map(({ partition, from }) => [partition, from])));
    } catch (error) {
      // Its connections may be what has failed.
      await this.stop();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Goes back to the first record that could not be held, where there is room for it now. */
  readAgain(): boolean {
    if (!this.#open.mustReadAgain) return false;
    for (const [partition, offset] of this.#open.readAgain()) this.#positions.set(partition, offset);
    return true;
  }

  async stop(): Promise<void> {
    await this.#reader?.stop();
    this.#reader = undefined;
  }

  #next(partition: number): bigint {
    return this.#positions.get(partition) ?? 0n;
  }

  /** The topic was deleted and created anew. */
  #beginAnew(): void {
    this.#open = new OpenDeadLetters(this.#deps.maxRecords);
    this.#positions.clear();
  }
}
