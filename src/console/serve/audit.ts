import { hasCode } from '../../core/errors.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { type KafkaAccess, UNOBSERVED } from '../../kafka/open-kafka.ts';
import { Publisher } from '../../kafka/produce/publisher.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type ChangeEnd, PageError } from '../page/page.ts';

/** What somebody did, or saw that the schemas tag as sensitive. */
export type AuditEntry = { readonly user: string; readonly action: string; readonly details: object };

/**
 * The audit trail: a log line, and a record in `{TOPIC_PREFIX}.audit` (key: the user; JSON). A change has two records with one id:
 * `begun` before it, without which it is not made, and how it ended. A process that dies in between leaves the first one alone.
 */
export type Audit = {
  /** Before anything is changed or shown. Resolves when the brokers have the record. @returns tells how it ended. @throws PageError 503 */
  begin(entry: AuditEntry): Promise<(outcome: ChangeEnd, message?: string) => Promise<void>>;
  stop(): Promise<void>;
};

/** A person waits for it. */
const DEADLINE_MS = 5_000;
const BACKLOG_BYTES = 4 * 1024 * 1024;

export function openAudit(deps: {
  readonly kafka: KafkaAccess;
  readonly prefix: string;
  readonly logger: Logger;
  readonly clock: Clock;
}): Audit {
  const { kafka, logger, clock } = deps;
  const topic = topicName(deps.prefix, OWN_TOPICS.audit);
  let trouble: string | null = null;
  const publisher = new Publisher({
    clock,
    openSession: kafka.openSession,
    backlogBytes: BACKLOG_BYTES,
    observer: {
      ...UNOBSERVED,
      troubleChanged(_topic, why) {
        trouble = why;
      },
    },
  });
  const write = async (entry: AuditEntry & { id: string; state: string; message?: string | undefined }) => {
    const at = new Date(clock.wall()).toISOString();
    logger.info({ audit: { at, ...entry } }, 'audit');
    const value = Buffer.from(JSON.stringify({ at, ...entry }));
    const key = Buffer.from(entry.user);
    await publisher.publish({ topic, key, value, headers: new Map() }, DEADLINE_MS);
  };
  return {
    async begin(entry) {
      const id = newId();
      await write({ id, ...entry, state: 'begun' }).catch((error: Error) => {
        logger.error({ err: error, topic }, 'the audit trail cannot be written: the request was refused');
        const why = hasCode(error, 'PUBLISH_DEADLINE') && trouble !== null ? trouble : error.message;
        throw new PageError(
          503,
          `Nothing was changed or shown, because the audit trail ${topic} cannot be written: ${why}. Check that Kafka is available, and run hookline topics apply where the topic is missing.`,
          { cause: error },
        );
      });
      return (outcome, message) =>
        write({ id, ...entry, state: outcome, message }).catch((error: unknown) =>
          // It has happened, and the first record says that it began.
          logger.error({ err: error, topic, id }, 'the end of a change is missing in the audit trail'),
        );
    },
    stop: () => publisher.stop(),
  };
}
