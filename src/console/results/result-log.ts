import { ownRecordReader } from '../../cli/shell/read-own-topics.ts';
import type { CommandResult } from '../../core/command.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { openRanges } from '../../kafka/consume/range-reader.ts';
import { followTopic } from '../../kafka/consume/topic-follower.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { lazily } from '../page/lazily.ts';

/** The latest results of commands and reports of drift, kept up to date; in memory, and no more than {@link MOST}. */
export type ResultLog = {
  /** The latest first; of one ref, where one is given. */
  latest(ref?: string): readonly CommandResult[];
  of(commandId: string): CommandResult | undefined;
  /** The drift that was reported last of each subscription, unless it has ended since. */
  drift(): readonly CommandResult[];
  /** Whether the topic has earlier results that are not kept. */
  readonly isPartial: boolean;
  /** Resolves with the next result, or when `signal` aborts. */
  next(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

/** Of each partition, when the log is opened. */
const OF_PARTITION = 500;
const MOST = 3_000;
/** Entries that are kept of a result's lists: subscription.list can have tens of thousands. */
const OF_LIST = 100;

export const resultLog = (deps: ConsoleDeps): (() => Promise<ResultLog>) =>
  lazily(deps, 'results', () => openLog(deps));

async function openLog({ config, kafka, logger, clock }: ConsoleDeps): Promise<ResultLog> {
  const topic = topicName(config.topics.prefix, OWN_TOPICS.results);
  const read = await ownRecordReader(config, 'result');
  const kept = new Map<string, CommandResult>();
  let isPartial = false;
  let news = Promise.withResolvers<void>();
  const keep = async ({ partition, offset, value }: IncomingRecord) => {
    if (!value) return;
    const result = await read(value).catch(() => null);
    if (!result) return;
    // By position: the log begins with what comes, and then reads what was there.
    kept.set(`${partition}/${offset}`, shortened(result as unknown as CommandResult));
    if (kept.size > MOST) {
      isPartial = true;
      for (const key of kept.keys()) if (kept.size > MOST) kept.delete(key);
    }
    news.resolve();
    news = Promise.withResolvers();
  };
  const follower = await followTopic({
    ...{ openTopic: kafka.openTopic, clock, topic, from: 'now', onRecord: keep },
    onBrokenOff: (err) => logger.warn({ err, topic }, 'the topic cannot be read, trying again'),
  });
  try {
    const ranges = await openRanges({ openTopic: kafka.openTopic, clock, topic });
    const earlier: IncomingRecord[] = [];
    try {
      const spans = (await ranges.span()).map(({ partition, from, to }) => {
        const begin = to - BigInt(OF_PARTITION) > from ? to - BigInt(OF_PARTITION) : from;
        isPartial ||= begin > from;
        return { partition, from: begin, to };
      });
      await ranges.read(spans, (record) => void earlier.push(record));
    } finally {
      await ranges.stop();
    }
    for (const record of earlier) await keep(record);
  } catch (error) {
    await follower.stop();
    throw error;
  }
  const all = () => [...kept.values()].sort((a, b) => b.finishedAt - a.finishedAt);
  return {
    latest: (ref) => all().filter((result) => ref === undefined || result.ref === ref),
    of: (commandId) => all().find((result) => result.commandId === commandId && result.status !== 'DRIFT'),
    drift() {
      const reports = all().filter(({ status }) => status === 'DRIFT');
      const last = new Map(
        reports.toReversed().map((report) => [report.ref ?? report.subscriptionId, report]),
      );
      return [...last.values()].filter(({ errorCode }) => errorCode !== null);
    },
    get isPartial() {
      return isPartial;
    },
    async next(signal) {
      const gone = Promise.withResolvers<void>();
      const end = () => gone.resolve();
      signal.addEventListener('abort', end, { once: true });
      await Promise.race([news.promise, gone.promise]);
      signal.removeEventListener('abort', end);
    },
    stop: () => follower.stop(),
  };
}

const shortened = (result: CommandResult): CommandResult => ({
  ...result,
  subscriptions: result.subscriptions?.slice(0, OF_LIST) ?? null,
  drift: result.drift?.slice(0, OF_LIST) ?? null,
});
