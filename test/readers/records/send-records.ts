import { createDecipheriv } from 'node:crypto';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LargeBody, makeLargeBodies } from '../../bench/large/bodies.ts';
import { sendAll } from '../../bench/large/send-all.ts';
import { SUBSCRIPTION } from '../../bench/load/bodies.ts';
import { cliJson } from '../../support/cli.ts';
import type { RunningStore } from '../../support/object-store/s3-bucket.ts';
import { postSigned } from '../../support/sign.ts';
import { ROOT } from '../../support/source-tree.ts';
import { setTopicBytes } from '../../support/topic-config.ts';
import { type Brokers, Fixture } from '../../support/topics-fixture.ts';
import { type Cell, TOPICS, type Topic } from './cells.ts';
import { type RecordSchema, typedFields } from './expected-value.ts';
import { fullMessage, paddedMessage, smallMessage } from './messages.ts';
import { OLD_SCHEMAS, readSchema, registerOldSchemas, writeOldRecords } from './old-records.ts';

/** A message that became a record, and the schema that it was written with. */
export type Sent = {
  readonly topic: Topic;
  readonly fullTopic: string;
  readonly cell: Cell;
  readonly entityId: string;
  readonly message: Buffer;
  readonly schema: RecordSchema;
};

type Env = Record<string, string | undefined>;

const { ref } = SUBSCRIPTION;
/** What many managed clusters allow, and Kafka's own default. */
const ONE_MIB = 1_048_588;
/** Above CLAIM_CHECK_BYTES. */
const TOO_LARGE = 1_000_000;
/** Bodies of 50 MB. `make test-bodies` sends twenty: here none may be answered 503, as a repeat could be a second record. */
const AT_ONCE = 5;
const OWN_SCHEMAS = join(ROOT, 'schemas');

/** Fills the topics of both fixtures: the first has topics of 95 MB, the second ones of 1 MiB. */
export async function sendRecords(stack: Brokers, store: RunningStore, fixtures: Fixture[]): Promise<Sent[]> {
  const roomy = new Fixture(stack);
  fixtures.push(roomy);
  const narrow = await Fixture.make(stack, { partitions: 6 });
  fixtures.push(narrow);
  await setTopicBytes(narrow.env, narrow.topic('payment-status'), ONE_MIB);
  for (const fixture of fixtures)
    fixture.secrets(ref, {
      'subscription-id': SUBSCRIPTION.subscriptionId,
      'signing-secret': SUBSCRIPTION.signingSecret,
      'encryption-key': SUBSCRIPTION.encryptionKey,
    });
  return [
    ...(await sendOld(roomy)),
    ...(await sendInRecords(roomy)),
    ...(await sendReferences(roomy, store)),
    ...(await sendNewer(roomy, store)),
    ...(await sendTwenty(narrow, store)),
  ];
}

/** 0.1, and then the move to 1.0. */
async function sendOld(fixture: Fixture): Promise<Sent[]> {
  const ids = await registerOldSchemas(fixture);
  await cliJson(fixture.env, 'topics', 'apply', '--partitions', '2');
  const written = await writeOldRecords(fixture, ids, ref);
  await cliJson(fixture.env, 'schemas', 'push', '--major');
  return written.map(({ topic, key, value }) => ({
    ...sentOf(fixture, topic, '0.1', key, OLD_SCHEMAS),
    message: Buffer.from(String(value.source)),
  }));
}

const sentOf = (fixture: Fixture, topic: Topic, cell: Cell, entityId: string, schemas = OWN_SCHEMAS) => ({
  topic,
  fullTopic: fixture.topic(topic),
  cell,
  entityId,
  schema: readSchema(schemas, topic),
});

async function sendInRecords(fixture: Fixture): Promise<Sent[]> {
  await using ingress = await startIngress(fixture, {});
  const sent: Sent[] = [];
  for (const topic of TOPICS)
    for (const [name, make] of [['full', fullMessage] as const, ['small', smallMessage] as const])
      sent.push(await ingress.post(topic, '1.0', `1.0-${name}`, make));
  const large = [...makeLargeBodies(1, 'text'), ...makeLargeBodies(1, 'list')];
  return [...sent, ...(await ingress.postLarge('50 MB in the record', large))];
}

async function sendReferences(fixture: Fixture, store: RunningStore): Promise<Sent[]> {
  await using ingress = await startIngress(fixture, store.env);
  const sent: Sent[] = [];
  for (const topic of TOPICS) sent.push(await ingress.post(topic, '1.0, reference', '1.0-reference', padded));
  return [...sent, ...(await ingress.postLarge('1.0, reference', makeLargeBodies(1, 'text')))];
}

/** 1.1: one more field that may be null, as anybody adds one. */
async function sendNewer(fixture: Fixture, store: RunningStore): Promise<Sent[]> {
  const schemas = join(fixture.dir, 'schemas');
  cpSync(OWN_SCHEMAS, schemas, { recursive: true });
  for (const topic of TOPICS) {
    const schema = readSchema(OWN_SCHEMAS, topic);
    const field = { name: 'reason', type: ['null', 'string'], default: null, pointer: '/payload/reason' };
    writeFileSync(
      join(schemas, `events/${topic}.avsc`),
      JSON.stringify({ ...schema, fields: [...schema.fields, field] }),
    );
  }
  const env = { ...store.env, SCHEMAS_DIR: schemas };
  await cliJson({ ...fixture.env, ...env }, 'schemas', 'push');
  await using ingress = await startIngress(fixture, env);
  const sent: Sent[] = [];
  for (const topic of TOPICS) {
    sent.push(await ingress.post(topic, '1.1', '1.1-full', fullMessage));
    sent.push(await ingress.post(topic, '1.1', '1.1-small', smallMessage));
    sent.push(await ingress.post(topic, '1.1, reference', '1.1-reference', padded));
  }
  return sent;
}

/** Ten whose fields fit their record, and ten with so many transactions that these are left out. */
async function sendTwenty(fixture: Fixture, store: RunningStore): Promise<Sent[]> {
  await using ingress = await startIngress(fixture, store.env);
  const bodies = [...makeLargeBodies(10, 'text'), ...makeLargeBodies(10, 'list')];
  // Awaited here: ingress stops when this function returns.
  return await ingress.postLarge('20 × 50 MB, reference', bodies);
}

const padded = (topic: Topic, entityId: string) => paddedMessage(topic, entityId, TOO_LARGE);

async function startIngress(fixture: Fixture, env: Env) {
  const { process, url } = await fixture.ingress({ ...env, LOG_LEVEL: 'info' });
  const webhooks = `${url}/webhooks/${ref}`;
  const schemas = env.SCHEMAS_DIR;
  return {
    async post(topic: Topic, cell: Cell, entityId: string, make: typeof fullMessage): Promise<Sent> {
      const message = make(topic, entityId);
      const { status, text } = await postSigned(webhooks, SUBSCRIPTION, message);
      if (status !== 200) throw new Error(`${topic}, ${cell}: ingress answered ${status} ${text}`);
      return { ...sentOf(fixture, topic, cell, entityId, schemas), message: Buffer.from(message) };
    },
    async postLarge(cell: Cell, bodies: readonly LargeBody[]): Promise<Sent[]> {
      for (let n = 0; n < bodies.length; n += AT_ONCE) {
        const some = bodies.slice(n, n + AT_ONCE);
        const answers = await sendAll(new URL(webhooks), some, ({ signature }) => signature);
        const refused = answers.find(({ status }) => status !== 200);
        if (refused)
          throw new Error(`${cell}: ingress answered ${refused.status}: ${process.written().slice(-2_000)}`);
      }
      return bodies.map(({ entityId, body }) => ({
        ...sentOf(fixture, 'payment-status', cell, entityId),
        message: openBody(body),
      }));
    },
    [Symbol.asyncDispose]: async () => void (await process.stop()),
  };
}

/** The message of a sealed body: initialization vector, ciphertext, tag. */
function openBody(body: Buffer): Buffer {
  const key = Buffer.from(SUBSCRIPTION.encryptionKey, 'latin1');
  const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, 12), { authTagLength: 16 });
  decipher.setAuthTag(body.subarray(-16));
  return Buffer.concat([decipher.update(body.subarray(12, -16)), decipher.final()]);
}

/** What a record must hold of a message: its typed fields. */
export const typedOf = ({ schema, message }: Sent) => typedFields(schema, JSON.parse(message.toString()));
