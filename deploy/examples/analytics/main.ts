/**
 * A consumer of Hookline's events, to copy from: it keeps a flat table of the transactions of payment-status in a file of
 * DuckDB, each event exactly once.
 *
 *   KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8081 ANALYTICS_FILE=analytics.duckdb \
 *     node deploy/examples/analytics/main.ts
 *
 * SUBSCRIPTION is the ref whose events it stores. Set it where several subscriptions have this event: each receives every payment, under
 * ids of its own, and each would be counted.
 * EXIT_AT_END=true ends it when it has stored what the topic held at its start: as a job that is run every hour.
 */
import { Kafka, type KafkaMessage } from 'kafkajs';
import { createEventDecoder } from '../ledger/decode-event.ts';
import { createFetcher } from '../ledger/fetch-message.ts';
import { createSchemaFetcher } from '../ledger/fetch-schema.ts';
import { setVariables } from '../ledger/set-variables.ts';
import { createStatusReader, type StatusEvent } from './read-event.ts';
import { TransactionTable } from './transaction-table.ts';

const {
  KAFKA_BROKERS = 'localhost:9092',
  SCHEMA_REGISTRY_URL = 'http://localhost:8081',
  TOPIC = 'payments.payment-status',
  GROUP_ID = 'analytics',
  ANALYTICS_FILE = 'analytics.duckdb',
  SUBSCRIPTION,
  BODY_STORE_ENDPOINT,
  EXIT_AT_END,
} = setVariables(process.env);
const log = (msg: string, more: object = {}) => process.stdout.write(`${JSON.stringify({ msg, ...more })}\n`);

const kafka = new Kafka({ clientId: 'analytics', brokers: KAFKA_BROKERS.split(',') });
const decode = createEventDecoder(createSchemaFetcher(SCHEMA_REGISTRY_URL));
const readEvent = createStatusReader(decode, await createFetcher(BODY_STORE_ENDPOINT, log));
const table = await TransactionTable.open(ANALYTICS_FILE);
// Operators create topics: a consumer would create a missing one with other settings.
const consumer = kafka.consumer({ groupId: GROUP_ID, allowAutoTopicCreation: false });

// kafkajs can give up for good while the process keeps running: exit, so that its supervisor restarts it.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) process.exit(1);
});

let stopping = false;
const stop = async () => {
  if (stopping) return;
  stopping = true;
  await consumer.disconnect();
  await table[Symbol.asyncDispose]();
  log('stopped');
  process.exit(0);
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

/** By partition, the offset before which the group has yet to read. */
const missing = EXIT_AT_END === 'true' ? await readMissing() : undefined;
if (missing?.size === 0) await stop();

await consumer.connect();
await consumer.subscribe({ topics: [TOPIC], fromBeginning: true });
await consumer.run({
  // A batch is a megabyte, or a single larger record: what is read at once is stored at once.
  eachBatchAutoResolve: false,
  eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
    const { partition, messages } = batch;
    const stored = await table.store(eventsIn(partition, messages, heartbeat));
    // First the rows, durably; kafkajs commits the offset afterwards. A crash between the two brings the batch again.
    const lastOffset = batch.lastOffset();
    resolveOffset(lastOffset);
    log('stored', { partition, lastOffset, ...stored });
    if (missing && BigInt(lastOffset) + 1n >= (missing.get(partition) ?? 0n)) missing.delete(partition);
    // Not awaited: it waits for this batch.
    if (missing?.size === 0) stop();
  },
});
log('reading', { topic: TOPIC });

async function* eventsIn(
  partition: number,
  messages: readonly KafkaMessage[],
  heartbeat: () => Promise<void>,
): AsyncGenerator<StatusEvent> {
  for (const { offset, value } of messages) {
    await heartbeat();
    const event = value && (await readEvent(value));
    const isOurs = SUBSCRIPTION === undefined || event?.ref === SUBSCRIPTION;
    if (event && isOurs) yield event;
    // Reading it again would fail again: it stays in the topic, and the log names it.
    else if (value && !event) log('unreadable', { partition, offset });
  }
}

async function readMissing(): Promise<Map<number, bigint>> {
  const admin = kafka.admin();
  await admin.connect();
  const [ends, committed] = await Promise.all([
    admin.fetchTopicOffsets(TOPIC),
    admin.fetchOffsets({ groupId: GROUP_ID, topics: [TOPIC] }),
  ]);
  await admin.disconnect();
  const read = new Map(committed[0]?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
  const open = ends.filter(
    ({ partition, low, high }) => low !== high && (read.get(partition) ?? -1n) < BigInt(high),
  );
  return new Map(open.map(({ partition, high }) => [partition, BigInt(high)]));
}
