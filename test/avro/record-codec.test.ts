import { describe, expect, it } from 'vitest';
import type { EnvelopeValues } from '../../src/avro/envelope.ts';
import { schemaIdOf } from '../../src/avro/record-codec.ts';
import type { ObjectReference } from '../../src/core/record.ts';
import { ownEventSchemas } from '../support/event-schemas.ts';
import { type AvroVectors, fromBase64, readVectors } from '../support/vectors.ts';

const { record, schemaId, value, sourceRef, referringValue } = readVectors<AvroVectors>('avro.json');
const { codec, transcoder } = ownEventSchemas().claiming('payment-status') ?? expect.fail('no schema');

function transcode(reference?: ObjectReference): string {
  const { eventId, subscription, receivedAt, source } = record as EnvelopeValues & { source: string };
  const envelope = { eventId, subscription, receivedAt };
  const noDrift = (field: string) => expect.fail(`drift at ${field}`);
  const found = transcoder.find(Buffer.from(source));
  const written = reference
    ? found.writeWithout(envelope, schemaId, noDrift, {
        reference,
        maxBytes: fromBase64(referringValue).length,
      }).value
    : found.write(envelope, schemaId, noDrift);
  found.drop();
  return written.toString('base64');
}

describe('a record in the wire format', () => {
  it.each([[0], [1], [100], [100_000]])(
    'is byte for byte what fastavro writes, whatever the size hint (%i)',
    (hint) => {
      expect(codec.encode(record, schemaId, hint).toString('base64')).toBe(value);
    },
  );

  it('is what the transcoder makes of the message', () => {
    expect(transcode()).toBe(value);
  });

  it('is what fastavro writes where the message is stored elsewhere', () => {
    expect(transcode(sourceRef)).toBe(referringValue);
  });

  it('tells its schema, and is read back', () => {
    const bytes = fromBase64(value);
    expect(schemaIdOf(bytes)).toBe(schemaId);
    expect(JSON.parse(JSON.stringify(codec.decode(bytes.subarray(5))))).toEqual(record);
  });

  it.each([[''], ['00'], ['0000000001'], ['0100000001ff']])('is none: %s', (hex) => {
    expect(schemaIdOf(Buffer.from(hex, 'hex'))).toBeNull();
  });

  it('is refused where a value does not fit', () => {
    expect(() => codec.encode({ ...record, eventId: 5 }, 1, 10)).toThrow();
  });
});
