import { HooklineError, hasCode } from '../../core/errors.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { type OutgoingRecord, type Position, Publisher } from '../../kafka/produce/publisher.ts';

const DEADLINE_MS = 15_000;

/**
 * Publishes records with a publisher of their own, and resolves when the brokers have all of them.
 * @throws HooklineError PUBLISH_DEADLINE with what the brokers said instead, PUBLISH_REFUSED
 */
export async function publishOnce(
  kafka: KafkaAccess,
  records: readonly OutgoingRecord[],
): Promise<Position[]> {
  let trouble: string | null = null;
  const publisher = new Publisher({
    openSession: kafka.openSession,
    backlogBytes: Number.MAX_SAFE_INTEGER,
    observer: {
      attempt() {},
      confirmed() {},
      sessionOpened() {},
      troubleChanged(topic, why) {
        trouble = why && `${topic}: ${why}`;
      },
    },
  });
  try {
    return await Promise.all(records.map((record) => publisher.publish(record, DEADLINE_MS)));
  } catch (error) {
    if (!hasCode(error, 'PUBLISH_DEADLINE') || trouble === null) throw error;
    throw new HooklineError('PUBLISH_DEADLINE', trouble, { cause: error });
  } finally {
    await publisher.stop();
  }
}
