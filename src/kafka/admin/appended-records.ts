import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { withAdmin } from './describe-topics.ts';

/** How many records were written to topics since a time. */
export type AppendedRecords = {
  readonly records: number;
  /** Topics whose records of that time may have been deleted: they count for less than was written. */
  readonly deleted: readonly string[];
};

/**
 * Counts by offsets: those from the first record of `since` on. Where its topic is as `topics apply` makes it, a record has the time
 * of the brokers' clocks. Repeats count too.
 * @param since milliseconds since 1970
 */
export async function appendedSince(
  kafka: KafkaClient,
  topics: readonly string[],
  since: number,
): Promise<AppendedRecords> {
  return withAdmin(kafka, async (admin) => {
    let records = 0n;
    const deleted: string[] = [];
    for (const topic of topics) {
      const begins = await admin.fetchTopicOffsetsByTimestamp(topic, since);
      const beginOf = new Map(begins.map(({ partition, offset }) => [partition, BigInt(offset)]));
      for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
        const begin = beginOf.get(partition) ?? BigInt(high);
        records += BigInt(high) - begin;
        if (begin <= BigInt(low) && BigInt(low) > 0n && !deleted.includes(topic)) deleted.push(topic);
      }
    }
    return { records: Number(records), deleted };
  });
}
