/**
 * CloudEvents 1.0 in binary mode for Kafka: the record's value is the data, the context stands in `ce_` headers.
 */
export type EventContext = {
  readonly eventId: string;
  readonly ref: string;
  readonly type: string;
  readonly entityId: string | null;
  readonly receivedAt: number;
  readonly traceparent: string | undefined;
};

const NAMES = {
  id: Buffer.from('ce_id'),
  source: Buffer.from('ce_source'),
  type: Buffer.from('ce_type'),
  specversion: Buffer.from('ce_specversion'),
  time: Buffer.from('ce_time'),
  subject: Buffer.from('ce_subject'),
  contentType: Buffer.from('content-type'),
  traceparent: Buffer.from('traceparent'),
};
const SPECVERSION = Buffer.from('1.0');
const CONTENT_TYPE = Buffer.from('application/avro');

export function eventHeaders(context: EventContext): Map<Buffer, Buffer> {
  const headers = new Map([
    [NAMES.id, Buffer.from(context.eventId, 'latin1')],
    [NAMES.source, Buffer.from(`/webhooks/${context.ref}`, 'latin1')],
    [NAMES.type, Buffer.from(context.type)],
    [NAMES.specversion, SPECVERSION],
    [NAMES.time, Buffer.from(new Date(context.receivedAt).toISOString(), 'latin1')],
    [NAMES.contentType, CONTENT_TYPE],
  ]);
  if (context.entityId !== null) headers.set(NAMES.subject, Buffer.from(context.entityId));
  if (context.traceparent !== undefined)
    headers.set(NAMES.traceparent, Buffer.from(context.traceparent, 'latin1'));
  return headers;
}
