import type { KafkaAccess } from '../kafka/open-kafka.ts';
import { type OutgoingRecord, type Position, Publisher } from '../kafka/publisher.ts';

const DEADLINE_MS = 15_000;

/** Publishes records with a publisher of their own, and resolves when the brokers have all of them. */
export async function publishOnce(
  kafka: KafkaAccess,
  records: readonly OutgoingRecord[],
): Promise<Position[]> {
  const publisher = new Publisher({
    openSession: kafka.openSession,
    backlogBytes: Number.MAX_SAFE_INTEGER,
    observer: { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} },
  });
  try {
    return await Promise.all(records.map((record) => publisher.publish(record, DEADLINE_MS)));
  } finally {
    await publisher.stop();
  }
}
