import type { StoredDelivery } from '../../core/delivery.ts';
import type { DeadLetterStage, HooklineError } from '../../core/errors.ts';
import { PROBE } from '../../core/names.ts';
import type { ObjectReference } from '../../core/record.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** Why a record is in the dead-letter topic, under Kafka Connect's names, and what a redrive needs to send it the same way again. */
export const DEAD_LETTER_HEADERS = {
  stage: '__connect.errors.stage',
  code: '__connect.errors.exception.class.name',
  message: '__connect.errors.exception.message',
  topic: '__connect.errors.topic',
  partition: '__connect.errors.partition',
  offset: '__connect.errors.offset',
  connector: '__connect.errors.connector.name',
  ref: 'hookline.ref',
  subscriptionId: 'hookline.subscription-id',
  /** Only where Hookline 0.1.0 redrives it as this version does; see deadLetterHeaders. */
  mediaType: 'hookline.media-type',
  receivedAt: 'hookline.received-at',
  eventId: 'hookline.event-id',
  part: 'hookline.part',
  parts: 'hookline.parts',
  /** The attempt that stored the parts: those of another one are no parts of the same bytes. */
  partsOf: 'hookline.parts-of',
  /** Of a body that is in the object store: where, and how to verify it. The record's value is empty. */
  bodyUri: 'hookline.body-uri',
  bodyBytes: 'hookline.body-bytes',
  bodySha256: 'hookline.body-sha256',
  /** Present where the body is sealed with a key of SEALING_KEY_FILE; see seal-body.ts. */
  sealed: 'hookline.sealed',
  /** Of a command: it has its result, under this id. */
  commandId: 'hookline.command-id',
  /** On what a redrive stored, an event or a dead-letter record again. */
  redrivenAt: 'hookline.redriven-at',
  redrivenFrom: 'hookline.redriven-from',
  redriveCount: 'hookline.redrive-count',
  /** On the marker that a redrive leaves behind: which dead-letter record it stored, and where. */
  redriveOf: 'hookline.redrive-of',
  redrivenTo: 'hookline.redriven-to',
  /** On the marker that a dismissal leaves behind: of which dead-letter record, why, and by whom. */
  dismissalOf: 'hookline.dismissal-of',
  dismissedReason: 'hookline.dismissed-reason',
  dismissedBy: 'hookline.dismissed-by',
  traceparent: 'traceparent',
} as const;

type DeadLetter = {
  readonly delivery: StoredDelivery;
  readonly eventId: string;
  readonly stage: DeadLetterStage;
  readonly reason: HooklineError;
  readonly part: number;
  readonly parts: number;
  /** Of several parts: names the attempt to store them. */
  readonly partsOf?: string | undefined;
  /** Where the body is, if the record does not hold it. */
  readonly object?: ObjectReference;
  readonly isSealed?: boolean;
};

/** Never plaintext, keys or secrets: the reason's text comes from the error table. */
export function deadLetterHeaders({
  delivery,
  eventId,
  stage,
  reason,
  part,
  parts,
  partsOf,
  object,
  isSealed = false,
}: DeadLetter): Map<Buffer, Buffer> {
  const names = DEAD_LETTER_HEADERS;
  // After a rollback, 0.1.0 would redrive the empty or sealed value, and publish changed rows of a spool and forged probes as events.
  // It refuses records without a media type, and they stay open. This version does not read it.
  const isForOlder = !object && !isSealed && stage !== 'SPOOL' && delivery.ref !== PROBE.ref;
  const texts: Record<string, string | undefined> = {
    [names.stage]: stage,
    [names.code]: reason.code,
    [names.message]: reason.message,
    [names.topic]: reason.topic,
    [names.connector]: 'hookline',
    [names.ref]: delivery.ref,
    [names.subscriptionId]: delivery.subscriptionId,
    [names.mediaType]: isForOlder ? delivery.mediaType : undefined,
    [names.receivedAt]: String(delivery.receivedAt),
    [names.eventId]: eventId,
    [names.part]: String(part),
    [names.parts]: String(parts),
    [names.partsOf]: partsOf,
    [names.bodyUri]: object?.uri,
    [names.bodyBytes]: object && String(object.bytes),
    [names.bodySha256]: object?.sha256,
    [names.sealed]: isSealed ? '1' : undefined,
    [names.traceparent]: delivery.traceparent,
  };
  return toHeaders(texts);
}

/** Where the body of a dead-letter record is; null where the record holds it, or its headers name no object. */
export function bodyReferenceOf(headers: Readonly<Record<string, string>>): ObjectReference | null {
  const { bodyUri, bodySha256, bodyBytes } = DEAD_LETTER_HEADERS;
  const uri = headers[bodyUri];
  const sha256 = headers[bodySha256];
  const bytes = Number(headers[bodyBytes]);
  return uri !== undefined && sha256 !== undefined && Number.isSafeInteger(bytes)
    ? { uri, bytes, sha256 }
    : null;
}

/** Headers as bytes; those without a value are left out. */
export function toHeaders(texts: Readonly<Record<string, string | undefined>>): Map<Buffer, Buffer> {
  const headers = new Map<Buffer, Buffer>();
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined) headers.set(Buffer.from(name), Buffer.from(text));
  }
  return headers;
}

/** Counts dead-letter records, of webhooks and of commands. */
export const deadLetterMetrics = (metrics: Metrics) => ({
  deadLetters: metrics.counter({
    name: 'hookline_dead_letters_total',
    help: 'Records sent to the dead-letter topic, by stage',
    labels: ['stage'],
  }),
});
