import type { StoredDelivery } from '../../core/delivery.ts';
import type { DeadLetterStage, HooklineError } from '../../core/errors.ts';

/** Why a record is a dead letter, under Kafka Connect's names, and what a redrive needs to send it the same way again. */
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
  mediaType: 'hookline.media-type',
  receivedAt: 'hookline.received-at',
  eventId: 'hookline.event-id',
  part: 'hookline.part',
  parts: 'hookline.parts',
  /** Of a command: it has its result, under this id. */
  commandId: 'hookline.command-id',
  /** On what a redrive stored, an event or a dead letter anew. */
  redrivenAt: 'hookline.redriven-at',
  redrivenFrom: 'hookline.redriven-from',
  redriveCount: 'hookline.redrive-count',
  /** On the marker that a redrive leaves behind: which dead letter it stored, and where. */
  redriveOf: 'hookline.redrive-of',
  redrivenTo: 'hookline.redriven-to',
  traceparent: 'traceparent',
} as const;

type DeadLetter = {
  readonly delivery: StoredDelivery;
  readonly eventId: string;
  readonly stage: DeadLetterStage;
  readonly reason: HooklineError;
  readonly part: number;
  readonly parts: number;
};

/** Never plaintext, keys or secrets: the reason's text comes from the error table. */
export function deadLetterHeaders({
  delivery,
  eventId,
  stage,
  reason,
  part,
  parts,
}: DeadLetter): Map<Buffer, Buffer> {
  const names = DEAD_LETTER_HEADERS;
  const texts: Record<string, string | undefined> = {
    [names.stage]: stage,
    [names.code]: reason.code,
    [names.message]: reason.message,
    [names.topic]: reason.topic,
    [names.connector]: 'hookline',
    [names.ref]: delivery.ref,
    [names.subscriptionId]: delivery.subscriptionId,
    [names.mediaType]: delivery.mediaType,
    [names.receivedAt]: String(delivery.receivedAt),
    [names.eventId]: eventId,
    [names.part]: String(part),
    [names.parts]: String(parts),
    [names.traceparent]: delivery.traceparent,
  };
  return toHeaders(texts);
}

/** Headers as bytes; those without a value are left out. */
export function toHeaders(texts: Readonly<Record<string, string | undefined>>): Map<Buffer, Buffer> {
  const headers = new Map<Buffer, Buffer>();
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined) headers.set(Buffer.from(name), Buffer.from(text));
  }
  return headers;
}
