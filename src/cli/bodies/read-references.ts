import { referenceIn } from '../../avro/envelope.ts';
import { eventSchemasIn } from '../../avro/event-schema.ts';
import { createWriterReader, isRegistryUnavailable, type RecordReader } from '../../avro/record-reader.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { type IncomingRecord, type ObjectReference, recordName } from '../../core/record.ts';
import { bodyReferenceOf } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { missingTopics, withAdmin } from '../../kafka/admin/describe-topics.ts';
import { type RangeReader, withRanges } from '../../kafka/consume/range-reader.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { type CliConfig, connectKafka, connectRegistry } from '../shell/connections.ts';
import type { Shell } from '../shell/shell.ts';
import type { Unchecked } from './unchecked.ts';

/** By the address of the object: what the latest record says of it, and where that record is. */
export type References = Map<string, { readonly reference: ObjectReference; readonly at: string }>;

/**
 * Reads every topic whose records can refer to objects.
 * @param unread gets each record of which it is not known whether it refers to an object
 */
export async function readReferences(
  shell: Shell,
  config: CliConfig,
  unread: Unchecked,
): Promise<{
  readonly references: References;
  /** Full names of those that were read. */
  readonly topics: readonly string[];
  readonly missing: readonly string[];
}> {
  const kafka = connectKafka(config);
  const { prefix } = config.topics;
  const deadLetterTopic = topicName(prefix, OWN_TOPICS.deadLetter);
  const { all: events } = eventSchemasIn(config.schemas.dir);
  const names = [...new Set(events.map(({ topic }) => topicName(prefix, topic))), deadLetterTopic];
  const missing = await withAdmin(kafka.client, (admin) => missingTopics(admin, names));
  if (missing.length > 0) shell.note(`Not in Kafka, and not read: ${missing.join(', ')}`);
  const readEvent = stopAsking(createWriterReader(connectRegistry(config)));
  const found: References = new Map();
  const topics = names.filter((name) => !missing.includes(name));
  for (const topic of topics) {
    await readTopic(shell, { ...kafka, topic }, async (record) => {
      const at = recordName(record);
      try {
        const reference =
          topic === deadLetterTopic
            ? bodyReferenceOf(record.headers)
            : referenceIn(record.value && (await readEvent(record.value)));
        if (reference) found.set(reference.uri, { reference, at });
      } catch (error) {
        unread.add(at, error);
      }
    });
  }
  return { references: found, topics, missing };
}

/** Hands over every record that the topic holds now. Rejects where the brokers do not answer, and at Ctrl-C. */
async function readTopic(
  { signal }: Shell,
  at: KafkaAccess & { readonly topic: string },
  take: (record: IncomingRecord) => Promise<void>,
): Promise<void> {
  const taking = new Set<Promise<void>>();
  const read = async (reader: RangeReader) => {
    await reader.read(await reader.span(), (record) => {
      const taken = take(record).finally(() => taking.delete(taken));
      taking.add(taken);
    });
    await Promise.all(taking);
  };
  await withRanges(at, read, signal);
}

/** A registry that did not answer once is not asked again: each record would wait for it, and stay in memory meanwhile. */
function stopAsking(read: RecordReader): RecordReader {
  let unavailable: unknown;
  return async (value) => {
    if (unavailable) throw unavailable;
    return read(value).catch((error) => {
      if (isRegistryUnavailable(error)) unavailable = error;
      throw error;
    });
  };
}
