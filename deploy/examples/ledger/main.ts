/**
 * A consumer of Hookline's events, to copy from: it books payments by their status, each event exactly once.
 *
 *   KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8081 LEDGER_FILE=ledger.sqlite \
 *     node deploy/examples/ledger/main.ts
 *
 * SUBSCRIPTION is the ref whose events it books. Set it where several subscriptions have this event: each receives every payment.
 * All processes of a group need one book: a real one is a database that they share.
 */
import { Kafka } from 'kafkajs';
import { Book } from './book.ts';
import { createFetcher } from './fetch-message.ts';
import { createSchemaFetcher } from './fetch-schema.ts';
import { createEventReader } from './read-event.ts';
import { setVariables } from './set-variables.ts';

const {
  KAFKA_BROKERS = 'localhost:9092',
  SCHEMA_REGISTRY_URL = 'http://localhost:8081',
  TOPIC = 'payments.payment-status',
  GROUP_ID = 'ledger',
  LEDGER_FILE = 'ledger.sqlite',
  SUBSCRIPTION,
  BODY_STORE_ENDPOINT,
} = setVariables(process.env);
const log = (msg: string, more: object = {}) => process.stdout.write(`${JSON.stringify({ msg, ...more })}\n`);

const kafka = new Kafka({ clientId: 'ledger', brokers: KAFKA_BROKERS.split(',') });
const fetchMessage = await createFetcher(BODY_STORE_ENDPOINT, log);
const readEvent = createEventReader(createSchemaFetcher(SCHEMA_REGISTRY_URL), fetchMessage);
/** A message of 50 MB can take longer to fetch than a member of a group may be silent. */
const HEARTBEAT_MS = 5_000;
const book = new Book(LEDGER_FILE);
// Operators create topics: a consumer would create a missing one with other settings.
const consumer = kafka.consumer({ groupId: GROUP_ID, allowAutoTopicCreation: false });

// kafkajs can give up for good while the process keeps running: exit, so that its supervisor restarts it.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) process.exit(1);
});

await consumer.connect();
await consumer.subscribe({ topics: [TOPIC], fromBeginning: true });
await consumer.run({
  eachMessage: async ({ partition, message: { offset, value }, heartbeat }) => {
    if (value === null) return;
    const beating = setInterval(() => heartbeat().catch(() => {}), HEARTBEAT_MS);
    const event = await readEvent(value).finally(() => clearInterval(beating));
    // Reading it again would fail again: it stays in the topic, and the log names it.
    if (event === null) {
      log('unreadable', { partition, offset });
      return;
    }
    if (SUBSCRIPTION !== undefined && event.subscription !== SUBSCRIPTION) return;
    // First the effect, durably; kafkajs commits the offset afterwards. A crash between the two brings the event again.
    const isNew = book.book(event);
    log(isNew ? 'booked' : 'booked already', { eventId: event.eventId, partition, offset });
  },
});
log('reading', { topic: TOPIC });

const stop = async () => {
  await consumer.disconnect();
  book[Symbol.dispose]();
  process.exit(0);
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
