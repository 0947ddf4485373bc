import type { RecordReader } from '../../avro/record-reader.ts';
import { type Describe, describers } from '../../cli/inspect/describe-record.ts';
import { DEFAULT_LIMIT } from '../../cli/inspect/search-topics.ts';
import type { Mask } from '../../cli/shell/mask.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { OffsetRange } from '../../kafka/consume/range-reader.ts';
import type { OpenTopics, RecordPosition } from '../index/open-topics.ts';
import type { RecordIndex, TopicCoverage } from '../index/record-index.ts';

export type ScanDeps = {
  readonly index: Pick<RecordIndex, 'coverage' | 'started'>;
  readonly records: Pick<OpenTopics, 'readRanges'>;
  readonly read: RecordReader;
};

/** How far a scan is. */
export type ScanState = {
  readonly wanted: string;
  /** `waiting`: for those of other users. `limited`: it has read as much as one scan reads; the next one goes on from there. */
  readonly status: 'waiting' | 'running' | 'done' | 'limited' | 'failed' | 'stopped';
  /** Offsets that were read, and that are to be read. */
  readonly read: number;
  readonly total: number;
  readonly found: number;
  readonly message: string | null;
};

/** A record about what is searched for. */
export type FoundPosition = RecordPosition & { readonly topic: string };

type Run = {
  state: ScanState;
  /** Who wants to know. It is stopped when nobody does any more. */
  readonly by: Set<string>;
  readonly found: FoundPosition[];
  /** What is left to read, the latest offsets first. */
  left: Slice[];
  /** What the index held when it began: it reads the rest. */
  indexed: readonly TopicCoverage[];
  readonly stopping: AbortController;
};

type Slice = { readonly topic: string; readonly kind: TopicCoverage['kind']; readonly range: OffsetRange };

/** Offsets that one scan reads: some minutes. */
const MAX_OFFSETS = 2_000_000;
/** Between two looks at whether it goes on. */
const SLICE = 5_000;
/** Scans whose results are kept. */
const MAX_KEPT = 10;

/** Reads what the index does not hold, on demand: one scan of a user, and one at a time, the latest records first. */
export class Scan {
  readonly #deps: ScanDeps;
  readonly #runs = new Map<string, Run>();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: ScanDeps) {
    this.#deps = deps;
  }

  /** The scan for this text, running or done. */
  of(wanted: string): (Pick<Run, 'state' | 'indexed'> & { readonly found: readonly FoundPosition[] }) | null {
    return this.#runs.get(wanted) ?? null;
  }

  /** Starts a scan, or goes on with one that reached its limit or failed. Another one of this user ends, those of others do not. */
  start(wanted: string, by: string): ScanState {
    for (const [of, run] of this.#runs)
      if (of !== wanted && run.by.delete(by) && run.by.size === 0) run.stopping.abort();
    const known = this.#runs.get(wanted);
    if (known && isOpen(known)) {
      known.by.add(by);
      return known.state;
    }
    const goesOn = known !== undefined && known.left.length > 0;
    // A copy: one that was told to stop may still read its slice.
    const found = goesOn ? [...known.found] : [];
    const left = goesOn ? known.left : [];
    const indexed = goesOn ? known.indexed : [];
    const status = [...this.#runs.values()].some(isOpen) ? 'waiting' : 'running';
    const run: Run = {
      state: { wanted, status, read: 0, total: totalOf(left), found: found.length, message: null },
      by: new Set([by]),
      found,
      left,
      indexed,
      stopping: new AbortController(),
    };
    this.#runs.delete(wanted);
    this.#runs.set(wanted, run);
    for (const [oldest, one] of this.#runs)
      if (this.#runs.size > MAX_KEPT && !isOpen(one)) this.#runs.delete(oldest);
    this.#running = this.#running.then(() => this.#read(run, goesOn));
    return run.state;
  }

  async stop(): Promise<void> {
    for (const { stopping } of this.#runs.values()) stopping.abort();
    await this.#running;
  }

  async #read(run: Run, goesOn: boolean): Promise<void> {
    const { wanted } = run.state;
    const describe = describers(this.#deps.read, NOTHING_SHOWN);
    const end = (status: ScanState['status'], message: string | null = null) => {
      run.state = { ...run.state, status, message };
    };
    if (run.stopping.signal.aborted) return end('stopped');
    run.state = { ...run.state, status: 'running' };
    try {
      if (!goesOn) {
        await this.#deps.index.started;
        run.indexed = this.#deps.index.coverage();
        run.left = slicesOf(run.indexed);
        run.state = { ...run.state, total: totalOf(run.left) };
      }
      for (let slice = run.left[0]; slice; slice = run.left[0]) {
        if (run.stopping.signal.aborted) return end('stopped');
        if (run.state.read >= MAX_OFFSETS) return end('limited');
        const found = await this.#readSlice(slice, wanted, describe[slice.kind]);
        if (run.stopping.signal.aborted) return end('stopped');
        run.found.push(...found);
        run.left = run.left.slice(1);
        const read = run.state.read + Number(slice.range.to - slice.range.from);
        run.state = { ...run.state, read, found: run.found.length };
        // Of a ref with many events the latest ones are enough.
        if (run.found.length >= DEFAULT_LIMIT * 10) return end('limited', 'enough was found');
      }
      end('done');
    } catch (error) {
      end('failed', (error as Error).message);
    }
  }

  async #readSlice({ topic, range }: Slice, wanted: string, describe: Describe): Promise<FoundPosition[]> {
    const found: FoundPosition[] = [];
    const describing: Promise<void>[] = [];
    const take = async (record: IncomingRecord) => {
      const { partition, offset } = record;
      if (await describe(record, wanted)) found.push({ topic, partition, offset: Number(offset) });
    };
    await this.#deps.records.readRanges(topic, [[range]], (record) => void describing.push(take(record)));
    await Promise.all(describing);
    return found;
  }
}

/** Waits or reads, and has not been told to stop. */
const isOpen = ({ state, stopping }: Run): boolean =>
  !stopping.signal.aborted && (state.status === 'waiting' || state.status === 'running');

const totalOf = (slices: readonly Slice[]) =>
  slices.reduce((sum, { range }) => sum + Number(range.to - range.from), 0);

/** Descriptions are made again for who sees them. */
const NOTHING_SHOWN: Mask = { value: () => null, entity: () => '' };

/**
 * How many offsets neither the index holds nor a scan has read.
 * @param indexed what the index held when the scan began, which has read the rest; empty without one
 */
export function unsearchedOf(coverage: readonly TopicCoverage[], indexed: readonly TopicCoverage[]): number {
  const before = new Map(
    indexed.flatMap(({ topic, partitions }) => partitions.map((one) => [`${topic}/${one.partition}`, one])),
  );
  return coverage
    .flatMap(({ topic, partitions }) =>
      partitions.map((now) => ({ now, was: before.get(`${topic}/${now.partition}`) })),
    )
    .reduce((sum, { now, was }) => {
      const head = Math.min(now.first, now.end) - Math.max(now.oldest, was?.first ?? 0);
      const tail = now.end - Math.max(now.next, now.oldest, was?.end ?? 0);
      return sum + Math.max(0, head) + Math.max(0, tail);
    }, 0);
}

/** What the index does not hold, in slices, the latest offsets of each partition first. */
export function slicesOf(coverage: readonly TopicCoverage[]): Slice[] {
  const slices: { readonly age: number; readonly slice: Slice }[] = [];
  for (const { topic, kind, partitions } of coverage) {
    for (const { partition, oldest, first, next, end } of partitions) {
      for (const [from, to] of [
        [oldest, Math.min(first, end)],
        [Math.max(next, oldest), end],
      ] as const) {
        for (let last = to; last > from; last -= SLICE) {
          const range = { partition, from: BigInt(Math.max(from, last - SLICE)), to: BigInt(last) };
          slices.push({ age: end - last, slice: { topic, kind, range } });
        }
      }
    }
  }
  return slices.sort((a, b) => a.age - b.age).map(({ slice }) => slice);
}
