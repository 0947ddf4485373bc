import type { ObjectReference } from '../core/record.ts';
import type { AvroField, AvroSchema, AvroType } from './avro-schema.ts';

/** Says where a message is stored that its record does not hold. */
export type SourceRef = ObjectReference & {
  /** Dotted paths of the typed fields whose values did not fit the record. */
  readonly omitted: readonly string[];
};

const SOURCE_REF: AvroType = {
  type: 'record',
  name: 'SourceRef',
  fields: [
    { name: 'uri', type: 'string' },
    { name: 'bytes', type: 'long' },
    { name: 'sha256', type: 'string' },
    { name: 'omitted', type: { type: 'array', items: 'string' } },
  ],
};

/** The object that a decoded event refers to; null where its record holds the message. */
export function referenceIn(event: unknown): ObjectReference | null {
  const { sourceRef } = (event ?? {}) as { sourceRef?: Partial<ObjectReference> | null };
  const { uri, bytes, sha256 } = sourceRef ?? {};
  return uri !== undefined && bytes !== undefined && sha256 !== undefined ? { uri, bytes, sha256 } : null;
}

/** The fields that every event record begins with, in schemas 1.0. Those without a pointer are filled by Hookline. */
export const ENVELOPE: readonly { name: string; type: AvroSchema; pointer?: string }[] = [
  { name: 'eventId', type: 'string' },
  { name: 'type', type: ['null', 'string'], pointer: '/type' },
  { name: 'entityId', type: ['null', 'string'], pointer: '/entityId' },
  { name: 'subscription', type: 'string' },
  { name: 'receivedAt', type: { type: 'long', logicalType: 'timestamp-millis' } as AvroSchema },
  { name: 'source', type: ['null', 'string'] },
  { name: 'sourceRef', type: ['null', SOURCE_REF] },
];

/** The values of the envelope's fields that no pointer fills, but for where the message is. */
export type EnvelopeValues = {
  readonly eventId: string;
  readonly subscription: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
};

/** Why a field isn't the envelope's field that must stand in its place, or null. */
export function envelopeFault(
  expected: (typeof ENVELOPE)[number],
  field: AvroField | undefined,
): string | null {
  const isSame =
    field?.name === expected.name &&
    field.pointer === expected.pointer &&
    bareType(field.type) === bareType(expected.type);
  if (isSame) return null;
  const wanted = { name: expected.name, type: expected.type, pointer: expected.pointer };
  return `every event begins with the envelope (${ENVELOPE.map((one) => one.name).join(', ')}): here must stand ${JSON.stringify(wanted)}`;
}

/** A type as JSON, without what doesn't change its records. */
const bareType = (type: AvroSchema): string =>
  JSON.stringify(type, (name, value: unknown) => (BESIDE.has(name) ? undefined : value));

const BESIDE = new Set(['doc', 'namespace', 'default', 'confluent:tags']);
