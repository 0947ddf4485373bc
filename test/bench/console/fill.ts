import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import { testKafka } from '../../support/topic-reader.ts';
import type { Fixture } from '../../support/topics-fixture.ts';

/** Of each partition half: as ingress writes them at a high rate. */
const BATCH = 500;
const AT_ONCE = 8;
const REFS = 20;
const ENTITIES = 200_000;
const STAGES = [
  ['DECRYPT', 'UNDECRYPTABLE'],
  ['PARSE', 'NOT_JSON'],
  ['ENCODE', 'ENCODING_FAILED'],
] as const;

/** A record as ingress has written it: what the others are copies of, but for their ids. */
export type Sample = { readonly value: Buffer; readonly headers: Readonly<Record<string, string>> };

/** Writes so many events of 200,000 entities and 20 refs. @returns the event id of each thousandth */
export async function fillEvents(fixture: Fixture, sample: Sample, count: number): Promise<string[]> {
  const ids: string[] = [];
  await write(fixture, 'payment-status', count, (n) => {
    const id = randomUUID();
    if (n % 1_000 === 0) ids.push(id);
    const entity = `entity-${n % ENTITIES}`;
    const ref = `ref-${n % REFS}`;
    const headers = { ...sample.headers, ce_id: id, ce_subject: entity, ce_source: `/webhooks/${ref}` };
    return { key: entity, value: sample.value, headers };
  });
  return ids;
}

/** Writes so many dead-letter records of 3 stages and 20 refs. @returns the event id of each hundredth */
export async function fillDeadLetters(fixture: Fixture, count: number): Promise<string[]> {
  const ids: string[] = [];
  const body = Buffer.alloc(600, 0xab);
  await write(fixture, 'dead-letter', count, (n) => {
    const id = randomUUID();
    if (n % 100 === 0) ids.push(id);
    const [stage, code] = STAGES[n % STAGES.length] ?? STAGES[0];
    const headers = {
      [NAMES.stage]: stage,
      [NAMES.code]: code,
      [NAMES.message]: 'no encryption key of the subscription opens the body',
      [NAMES.topic]: fixture.topic('payment-status'),
      [NAMES.connector]: 'hookline',
      [NAMES.ref]: `ref-${n % REFS}`,
      [NAMES.subscriptionId]: randomUUID(),
      [NAMES.mediaType]: 'octet-stream',
      [NAMES.receivedAt]: String(Date.now()),
      [NAMES.eventId]: id,
      [NAMES.part]: '1',
      [NAMES.parts]: '1',
    };
    return { key: id, value: body, headers };
  });
  return ids;
}

/** Writes one record of so many bytes. @returns its event id */
export async function writeLarge(fixture: Fixture, sample: Sample, bytes: number): Promise<string> {
  const id = randomUUID();
  const headers = { ...sample.headers, ce_id: id, ce_subject: 'large', ce_source: '/webhooks/ref-0' };
  await write(fixture, 'payment-status', 1, () => ({
    key: 'large',
    value: Buffer.alloc(bytes, 'x'),
    headers,
  }));
  return id;
}

async function write(
  { env, topic: nameOf }: Fixture,
  topic: string,
  count: number,
  message: (n: number) => kafkajs.Message,
): Promise<void> {
  const producer = testKafka(env).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  try {
    let next = 0;
    const send = async () => {
      while (next < count) {
        const from = next;
        next += BATCH;
        const size = Math.min(BATCH, count - from);
        const messages = Array.from({ length: size }, (_, n) => message(from + n));
        await producer.send({ topic: nameOf(topic), messages });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, send));
  } finally {
    await producer.disconnect();
  }
}
