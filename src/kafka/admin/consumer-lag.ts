import { setTimeout as sleep } from 'node:timers/promises';
import type kafkajs from 'kafkajs';
import { HooklineError } from '../../core/errors.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { missingTopics } from './describe-topics.ts';

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
