import { setTimeout as sleep } from 'node:timers/promises';
import type kafkajs from 'kafkajs';
import { HooklineError } from '../../core/errors.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { missingTopics, withAdmin } from './describe-topics.ts';

/** Polls the lag of a consumer group. */
export type LagWatch = { stop(): Promise<void> };

export type LagWatchDeps = {
  readonly kafka: KafkaClient;
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly onLag: (topic: string, partition: number, records: number) => void;
  /** The lag of a topic cannot be read: its earlier figures may be outdated. Polling continues. */
  readonly onFailure: (error: unknown) => void;
  readonly intervalMs?: number;
};

const INTERVAL_MS = 15_000;
/** A stop waits no longer for figures that nobody reads any more: kafkajs asks silent brokers for most of a minute. */
const LAST_POLL_MS = 500;

/**
 * Asks the brokers and not the consumer, which may hang. If a group has several processes, all report the same figures.
 */
export function watchLag(deps: LagWatchDeps): LagWatch {
  const { kafka, intervalMs = INTERVAL_MS } = deps;
  let admin = kafka.admin();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> = Promise.resolve();
  const ask = async (work: () => Promise<void>) => {
    try {
      await admin.connect();
      await work();
    } catch (error) {
      if (isStopped) return;
      deps.onFailure(error);
      // kafkajs asks for all topics that it knows, and fails at each of them where one is missing.
      await admin.disconnect().catch(() => {});
      admin = kafka.admin();
    }
  };
  const poll = async () => {
    // kafkajs asks for the offsets of a missing topic for ten seconds, in which the others wait.
    let existing: readonly string[] = [];
    await ask(async () => {
      const missing = await missingTopics(admin, deps.topics);
      existing = deps.topics.filter((topic) => !missing.includes(topic));
      if (missing.length > 0 && !isStopped)
        deps.onFailure(new HooklineError('TOPICS_MISSING', missing.join(', ')));
    });
    for (const topic of existing) if (!isStopped) await ask(() => reportLag(admin, topic, deps));
    if (!isStopped) timer = setTimeout(begin, intervalMs);
  };
  const begin = () => {
    polling = poll();
  };
  begin();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      const closed = polling.then(() => admin.disconnect()).catch(() => {});
      await Promise.race([closed, sleep(LAST_POLL_MS, undefined, { ref: false })]);
    },
  };
}

async function reportLag(
  admin: kafkajs.Admin,
  topic: string,
  { groupId, onLag }: LagWatchDeps,
): Promise<void> {
  const ends = await admin.fetchTopicOffsets(topic);
  const [group] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const committed = new Map(group?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  for (const { partition, high, low } of ends) {
    // -1: nothing is committed yet, and the group starts at the first existing record.
    const from = Math.max(committed.get(partition) ?? -1, Number(low));
    onLag(topic, partition, Math.max(0, Number(high) - from));
  }
}

/** Where a group cannot go on in a partition with what it has not read. */
export type UnreadGap = {
  readonly topic: string;
  readonly partition: number;
  /** What it would have read next; null where nothing is committed. */
  readonly from: number | null;
  /** The first offset that is there; or the end of the partition, where that is before `from`. */
  readonly to: number;
};

/** Coordinators move, and of a group without members it may take a moment to find it: 0.1, 0.2, 0.4, 0.8, 1 s, each shortened a bit. */
const ASK_AGAIN: Backoff = { firstMs: 100, factor: 2, maxMs: 1_000 };
const ASKED = 6;

/**
 * What a group has not read and never will: records that were deleted meanwhile, as by retention while none of its processes ran. Its
 * consumers begin with what is there, and say nothing. To be asked before they join: they commit where they begin.
 */
export function unreadGaps(
  { kafka, groupId, topics }: Pick<LagWatchDeps, 'kafka' | 'groupId' | 'topics'>,
  signal: AbortSignal,
): Promise<UnreadGap[]> {
  const ask = async (admin: kafkajs.Admin) => {
    const gaps: UnreadGap[] = [];
    for (const { topic, partitions } of await admin.fetchOffsets({ groupId, topics: [...topics] })) {
      const committed = new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
      // The brokers tell them in any order.
      const present = (await admin.fetchTopicOffsets(topic)).sort((a, b) => a.partition - b.partition);
      for (const { partition, ...offsets } of present) {
        const from = committed.get(partition) ?? -1;
        const first = Number(offsets.low);
        const end = Number(offsets.high);
        // Below 0 nothing is committed: a partition that begins at 0 has lost nothing.
        if (Math.max(from, 0) < first)
          gaps.push({ topic, partition, from: from < 0 ? null : from, to: first });
        if (from > end) gaps.push({ topic, partition, from, to: end });
      }
    }
    return gaps;
  };
  let asked = 0;
  const again = (error: unknown) => (error as { retriable?: boolean }).retriable === true && ++asked < ASKED;
  return withAdmin(kafka, (admin) => retry(() => ask(admin), { backoff: ASK_AGAIN, signal, again }));
}
