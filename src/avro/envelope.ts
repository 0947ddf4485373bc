import type { AvroField, AvroSchema } from './event-shape.ts';

/** The fields that every event record begins with. Those without a pointer are filled by Hookline. */
export const ENVELOPE: readonly { name: string; type: AvroSchema; pointer?: string }[] = [
  { name: 'eventId', type: 'string' },
  { name: 'type', type: ['null', 'string'], pointer: '/type' },
  { name: 'entityId', type: ['null', 'string'], pointer: '/entityId' },
  { name: 'subscription', type: 'string' },
  { name: 'receivedAt', type: { type: 'long', logicalType: 'timestamp-millis' } as AvroSchema },
  { name: 'source', type: 'string' },
];

/** The values of the envelope's fields that no pointer fills. */
export type EnvelopeValues = {
  readonly eventId: string;
  readonly subscription: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  readonly source: string;
};

/** Why a field isn't the envelope's field that must stand in its place, or null. */
export function envelopeFault(
  expected: (typeof ENVELOPE)[number],
  field: AvroField | undefined,
): string | null {
  const same =
    field?.name === expected.name &&
    field.pointer === expected.pointer &&
    JSON.stringify(field.type) === JSON.stringify(expected.type);
  if (same) return null;
  const wanted = { name: expected.name, type: expected.type, pointer: expected.pointer };
  return `every event begins with the envelope (${ENVELOPE.map((one) => one.name).join(', ')}): here must stand ${JSON.stringify(wanted)}`;
}
