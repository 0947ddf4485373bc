import { isRegistryUnavailable, type RecordReader } from '../../avro/record-reader.ts';
import { ownRecordReader } from '../../cli/shell/read-own-topics.ts';
import type { CommandResult } from '../../core/command.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { lengthOf } from '../../kafka/connect/clip-values.ts';
import { type OffsetRange, type RangeReader, withRanges } from '../../kafka/consume/range-reader.ts';
import type { TopicDeps } from '../../kafka/consume/topic-fetcher.ts';
import { followTopic } from '../../kafka/consume/topic-follower.ts';
import { pause } from '../../runtime/clock.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { lazily } from '../page/lazily.ts';
import { type DriftReport, type HeldResult, HeldResults } from './held-results.ts';

/** The latest results of commands and reports of drift, kept up to date; in memory, and bounded ({@link HeldResults}). */
export type ResultLog = {
  /** The latest first; of one ref, where one is given. */
  latest(ref?: string): readonly HeldResult[];
  /** The first result of a command, unless that only says that it is a duplicate. */
  of(commandId: string): HeldResult | undefined;
  /** The drift that was reported last of each subscription, unless it has ended since. */
  drift(): readonly DriftReport[];
  /** Whether the topic has results that are not kept: earlier ones, and those whose schema the registry does not give now. */
  readonly isPartial: boolean;
  /** Whether drift may be missing: its report is not read yet, or there is too much of it. */
  readonly isDriftPartial: boolean;
  /** When and why the topic could not be read a moment ago, and no result came since: later ones may be missing. */
  readonly failure: ReadFailure | null;
  /** Resolves with the next result, or when `signal` aborts. */
  next(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

/** @property at milliseconds since 1970 */
export type ReadFailure = { readonly at: number; readonly message: string };

type ResultLogDeps = TopicDeps & {
  readonly read: RecordReader;
  readonly onBrokenOff: (error: Error) => void;
};

/** Of each partition, before the log is open. */
const OF_PARTITION = 500n;
/** Earlier results are read only for drift, whose reports have no lists: a longer value is none. */
const DRIFT_LIMITS = { maxBytes: 1_048_576, maxValueBytes: 65_536 };
/** A topic of 1 GB is read within two minutes, beside what pages ask for. */
const BYTES_PER_SECOND = 10_000_000;
const READ_AGAIN_MS = 10_000;
/** An interruption is told again while it lasts, of a broker that hangs after longer than of one that is gone. */
const FAILED_MS = 60_000;

export const resultLog = (deps: ConsoleDeps): (() => Promise<ResultLog>) =>
  lazily(deps, 'results', () => openLog(deps));

async function openLog({ config, kafka, logger, clock }: ConsoleDeps): Promise<ResultLog> {
  const topic = topicName(config.topics.prefix, OWN_TOPICS.results);
  return openResultLog({
    openTopic: kafka.openTopic,
    clock,
    topic,
    read: await ownRecordReader(config, 'result'),
    onBrokenOff: (err) => logger.warn({ err, topic }, 'the topic cannot be read, trying again'),
  });
}

/** Resolves when the latest results are there; earlier drift follows. Rejects where the brokers don't answer. */
export async function openResultLog(deps: ResultLogDeps): Promise<ResultLog> {
  const { openTopic, clock, topic, read } = deps;
  let failure: ReadFailure | null = null;
  const onBrokenOff = (error: Error) => {
    failure = { at: clock.wall(), message: error.message };
    deps.onBrokenOff(error);
  };
  const held = new HeldResults();
  let news = Promise.withResolvers<void>();
  const decode = async ({ value }: IncomingRecord) => {
    const result = value && (await read(value).catch(onlyUnreadable));
    return result as CommandResult | null;
  };
  /** A schema was not there: the results are read again, rather than that those behind it wait. */
  let isAwaiting = false;
  let failures = 0;
  const keep = async (record: IncomingRecord) => {
    failure = null;
    const result = await decode(record).catch(() => {
      isAwaiting = true;
      failures++;
    });
    if (!result) return;
    held.take(record, result);
    news.resolve();
    news = Promise.withResolvers();
  };
  const keepDrift = async (record: IncomingRecord) => {
    if (record.value && lengthOf(record.value) > DRIFT_LIMITS.maxValueBytes) return;
    const result = await decode(record);
    if (result) held.takeDrift(result);
  };
  // The log begins with what comes, and then reads what was there.
  const follower = await followTopic({ openTopic, clock, topic, from: 'now', onRecord: keep, onBrokenOff });
  const earlier = await readLatest(deps, keep).catch(async (error) => {
    await follower.stop();
    throw error;
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  const readingAgain = untilStopped(signal, async () => {
    await clock.sleep(READ_AGAIN_MS, { signal });
    if (!isAwaiting) return;
    const before = failures;
    const isRead = await readLatest(deps, keep, signal).then(() => true, onBrokenOff);
    isAwaiting = !(isRead && failures === before);
  });
  let isDriftRead = earlier.length === 0;
  const readingDrift = readEarlier(deps, earlier, { onRecord: keepDrift, signal }).then((isRead) => {
    isDriftRead = isRead;
  });
  return {
    latest: (ref) => held.latest(ref),
    of: (commandId) => held.of(commandId),
    drift: () => held.drift(),
    get isPartial() {
      return earlier.length > 0 || held.isPartial || isAwaiting;
    },
    get isDriftPartial() {
      return !isDriftRead || held.isDriftPartial;
    },
    get failure() {
      return failure !== null && clock.wall() - failure.at < FAILED_MS ? failure : null;
    },
    next: (signal) => orAborted(news.promise, signal).catch(() => {}),
    async stop() {
      stopping.abort();
      await Promise.all([follower.stop(), readingDrift, readingAgain]);
    },
  };
}

/** What nobody can read is no result. What cannot be read for now rejects. */
function onlyUnreadable(error: unknown): null {
  if (isRegistryUnavailable(error)) throw error;
  return null;
}

async function untilStopped(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted)
    await work().catch((error) => {
      if (!signal.aborted) throw error;
    });
}

/** Reads the end of each partition. Returns what is before that. */
async function readLatest(
  deps: TopicDeps,
  onRecord: (record: IncomingRecord) => Promise<void>,
  signal?: AbortSignal,
): Promise<OffsetRange[]> {
  const read = async (reader: RangeReader) => {
    const spans = await reader.span();
    const beginOf = ({ from, to }: OffsetRange) => (to - OF_PARTITION > from ? to - OF_PARTITION : from);
    await reader.read(
      spans.map((span) => ({ ...span, from: beginOf(span) })),
      onRecord,
    );
    return spans.map((span) => ({ ...span, to: beginOf(span) })).filter(({ from, to }) => from < to);
  };
  return withRanges(deps, read, signal);
}

/** Reads these ranges slowly, again from their start where that fails. Whether it came to the end before `signal` aborted. */
async function readEarlier(
  { openTopic, clock, topic, onBrokenOff }: ResultLogDeps,
  ranges: readonly OffsetRange[],
  {
    onRecord,
    signal,
  }: { readonly onRecord: (record: IncomingRecord) => Promise<void>; readonly signal: AbortSignal },
): Promise<boolean> {
  const openShort: TopicDeps['openTopic'] = (name) => openTopic(name, DRIFT_LIMITS);
  while (ranges.length > 0 && !signal.aborted) {
    try {
      const read = (reader: RangeReader) =>
        reader.read(ranges, onRecord, { bytesPerSecond: BYTES_PER_SECOND });
      await withRanges({ openTopic: openShort, clock, topic }, read, signal);
      return !signal.aborted;
    } catch (error) {
      if (!signal.aborted) onBrokenOff(error as Error);
      await pause(clock, READ_AGAIN_MS, signal);
    }
  }
  return ranges.length === 0;
}
