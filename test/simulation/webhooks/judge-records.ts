import { hash } from 'node:crypto';
import kafkajs from 'kafkajs';
import { ownEventSchemas } from '../../support/event-schemas.ts';
import { headersIn } from '../kafka/record-batch.ts';
import type { Attempt } from './host.ts';
import type { Site } from './site.ts';
import { deadLetterEventOf, type StoredRecord } from './stored-events.ts';

type Judged = { readonly site: Site; readonly records: readonly StoredRecord[] };

/** A record with the requests of its webhook. */
type Own = Judged & { readonly record: StoredRecord; readonly attempts: readonly Attempt[] };

/** Each record is of a webhook, where that belongs, and says of it what it is (docs/consuming.md, docs/dead-letters.md). */
export function judgeRecords(judged: Judged, attempts: readonly Attempt[]): string[] {
  const byEvent = Map.groupBy(attempts, ({ webhook }) => webhook.eventId);
  const faults = new Set<string>();
  for (const record of judged.records) {
    const eventId = record.eventId ?? deadLetterEventOf(record);
    const own = byEvent.get(eventId ?? '');
    const [first] = own ?? [];
    if (!own || !first) {
      faults.add(`a record in ${record.topic} has the event id ${eventId}, which is of no webhook`);
      continue;
    }
    const parts = { ...judged, record, attempts: own };
    const found = isDeadLetter(record) ? deadLetterFaults(parts) : eventFaults(parts);
    const { number, kind } = first.webhook;
    for (const fault of [...partitionFault(parts), ...timeFault(parts), ...found])
      faults.add(`webhook ${number} (${kind}) in ${record.topic} ${fault}`);
  }
  return [...faults];
}

const isDeadLetter = ({ topic }: StoredRecord) => topic.endsWith('dead-letter');
const webhookOf = ({ attempts: [first] }: Own) => (first as Attempt).webhook;
const sha256 = (bytes: Buffer) => hash('sha256', bytes);

const partitioner = kafkajs.Partitioners.DefaultPartitioner();

/** As every client of Kafka chooses it by the key, among as many as there are, or were before some were added. */
function partitionFault({ site, record }: Own): string[] {
  const { topic, partition, key } = record;
  const now = site.cluster.topics.get(topic)?.length ?? 0;
  for (let count = site.system.partitions; count <= now; count++)
    if (partition === partitionOf(topic, key, count)) return [];
  return [`is in partition ${partition}`];
}

/** Of earlier schedules: the keys are those of the same webhooks each time. */
const chosen = new Map<string, number>();

function partitionOf(topic: string, key: Buffer | null, count: number): number {
  const name = `${count} ${key?.toString('latin1')}`;
  let partition = chosen.get(name);
  if (partition === undefined) {
    const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({ partitionId, leader: 1 }));
    partition = partitioner({ topic, partitionMetadata, message: { key, value: null } } as never);
    chosen.set(name, partition);
  }
  return partition;
}

/** Clocks jump, and a spool is drained later; but retention must not take it for an old one. */
const ABOUT_MS = 2 * 24 * 3_600_000;

function timeFault({ record: { timestamp }, attempts }: Own): string[] {
  const isRight = attempts.some(({ receivedAt }) => Math.abs(timestamp - receivedAt) < ABOUT_MS);
  return isRight ? [] : [`has the timestamp ${timestamp}`];
}

type Texts = Readonly<Record<string, string | undefined>>;

function headerFaults(has: ReadonlyMap<string, string>, wanted: Texts): string[] {
  return Object.entries(wanted)
    .filter(([name, text]) => has.get(name) !== text)
    .map(([name, text]) => `has ${name} ${has.get(name)} instead of ${text}`);
}

const SCHEMA_ID = Buffer.from([0, 0, 0, 1, 2]);
const SCHEMAS = new Map(ownEventSchemas().registered.map((schema) => [`payments.${schema.topic}`, schema]));

type Fields = {
  readonly eventId: string;
  readonly type: string | null;
  readonly entityId: string | null;
  readonly subscription: string;
  readonly receivedAt: bigint;
  readonly source: string | null;
  readonly sourceRef: { readonly bytes: bigint; readonly sha256: string } | null;
};

function eventFaults(own: Own): string[] {
  const { record, attempts, site } = own;
  const { ref, key, type, topic, eventId, message } = webhookOf(own);
  const headers = headersIn(record);
  const time = headers.get('ce_time') ?? '';
  const faults = headerFaults(headers, {
    ce_source: `/webhooks/${ref}`,
    ce_specversion: '1.0',
    ce_type: type,
    ce_subject: key,
    'content-type': 'application/avro',
    traceparent: undefined,
  });
  if (record.topic !== topic) faults.push(`belongs in ${topic}`);
  if (!attempts.some(({ receivedAt }) => new Date(receivedAt).toISOString() === time))
    faults.push(`has the time ${time}`);
  const value = record.value ?? Buffer.alloc(0);
  if (!value.subarray(0, SCHEMA_ID.length).equals(SCHEMA_ID)) return [...faults, 'has another schema id'];
  const fields = SCHEMAS.get(record.topic)?.codec.decode(value.subarray(SCHEMA_ID.length)) as
    | Fields
    | undefined;
  if (!fields) return [...faults, 'is no event'];
  const wanted = { eventId, type, entityId: key, subscription: ref, receivedAt: Date.parse(time) };
  for (const [name, field] of Object.entries(wanted)) {
    const has = fields[name as keyof typeof wanted];
    if (String(has) !== String(field)) faults.push(`has ${name} ${has} in its value instead of ${field}`);
  }
  const { source, sourceRef } = fields;
  if (!sourceRef && source !== message.toString()) faults.push('has another source');
  if (sourceRef && (Number(sourceRef.bytes) !== message.length || sourceRef.sha256 !== sha256(message)))
    faults.push('refers to another message');
  if (site.system.hasObjects && value.length > site.system.claimCheckBytes)
    faults.push(`has ${value.length} bytes, more than CLAIM_CHECK_BYTES`);
  return faults;
}

function deadLetterFaults(own: Own): string[] {
  const { record, attempts, records, site } = own;
  const { ref, mediaType, kind, topic, eventId, body } = webhookOf(own);
  const isMalformed = kind === 'malformed';
  const headers = headersIn(record);
  const error = '__connect.errors';
  const faults = headerFaults(headers, {
    'hookline.ref': ref,
    'hookline.media-type': headers.has('hookline.body-uri') ? undefined : mediaType,
    [`${error}.connector.name`]: 'hookline',
    [`${error}.exception.class.name`]: isMalformed ? 'UNPARSABLE' : 'RECORD_TOO_LARGE',
    [`${error}.stage`]: isMalformed ? 'PARSE' : 'PRODUCE',
    [`${error}.topic`]: isMalformed ? undefined : topic,
  });
  if (`${record.key}` !== eventId) faults.push(`has the key ${record.key}`);
  const receivedAt = headers.get('hookline.received-at');
  if (!attempts.some((attempt) => String(attempt.receivedAt) === receivedAt))
    faults.push(`was received at ${receivedAt}`);
  const uri = headers.get('hookline.body-uri');
  if (uri !== undefined) {
    const is = headers.get('hookline.body-sha256');
    const bytes = headers.get('hookline.body-bytes');
    if (is !== sha256(body) || bytes !== String(body.length)) faults.push('refers to another body');
    const object = site.bucket.objects.get(uri.replace('s3://events/', ''));
    if (!object?.equals(body)) faults.push('refers to no object with its body');
  } else if (!bodyOf(own, records, headers.get('hookline.parts') ?? '')?.equals(body))
    faults.push('has another body');
  return faults;
}

/** Of one record, or of all its parts; null where one is missing. */
function bodyOf({ record, attempts }: Own, records: readonly StoredRecord[], parts: string): Buffer | null {
  if (parts === '1') return record.value;
  const eventId = (attempts[0] as Attempt).webhook.eventId;
  const all = new Map<string, Buffer>();
  for (const one of records) {
    if (!isDeadLetter(one) || deadLetterEventOf(one) !== eventId) continue;
    const headers = headersIn(one);
    if (headers.get('hookline.parts') === parts && one.value)
      all.set(headers.get('hookline.part') ?? '', one.value);
  }
  const pieces = Array.from({ length: Number(parts) }, (_, n) => all.get(`${n + 1}`));
  return pieces.every((piece) => piece !== undefined) ? Buffer.concat(pieces) : null;
}
