import type kafkajs from 'kafkajs';
import type { KafkaClient } from '../connect/kafkajs-client.ts';

/** Looks how far a consumer group is behind, again and again. */
export type LagWatch = { stop(): Promise<void> };

export type LagWatchParts = {
  readonly kafka: KafkaClient;
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly onLag: (topic: string, partition: number, records: number) => void;
  /** A look failed: what was told before may be old. The next look comes all the same. */
  readonly onFailure: (error: unknown) => void;
  readonly intervalMs?: number;
};

const INTERVAL_MS = 15_000;

/**
 * Asks the brokers, not the consumer: one that hangs knows of no lag. With several processes in the group each of
 * them tells the same figures.
 */
export function watchLag(parts: LagWatchParts): LagWatch {
  const { kafka, intervalMs = INTERVAL_MS } = parts;
  const admin = kafka.admin();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  const look = async () => {
    try {
      await admin.connect();
      for (const topic of parts.topics) await tellLag(admin, topic, parts);
    } catch (error) {
      if (!isStopped) parts.onFailure(error);
    }
    if (!isStopped) timer = setTimeout(begin, intervalMs);
  };
  const begin = () => {
    looking = look();
  };
  begin();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await admin.disconnect().catch(() => {});
      await looking;
    },
  };
}

async function tellLag(
  admin: kafkajs.Admin,
  topic: string,
  { groupId, onLag }: LagWatchParts,
): Promise<void> {
  const ends = await admin.fetchTopicOffsets(topic);
  const [group] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const committed = new Map(group?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  for (const { partition, high, low } of ends) {
    // Where nothing is committed yet, -1, the group reads from the first record that is still there.
    const from = Math.max(committed.get(partition) ?? -1, Number(low));
    onLag(topic, partition, Math.max(0, Number(high) - from));
  }
}
