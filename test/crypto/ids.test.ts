import { describe, expect, it } from 'vitest';
import { eventIdOf } from '../../src/crypto/ids.ts';
import { type AvroVectors, readVectors, type SignatureVectors } from '../support/vectors.ts';

const { subscriptionId } = readVectors<SignatureVectors>('signatures.json');
const { record } = readVectors<AvroVectors>('avro.json');

describe('an event id', () => {
  it('is what Python computes: UUID version 8 over SHA-256 of subscription id and message', () => {
    expect(eventIdOf(subscriptionId, Buffer.from(String(record.source)))).toBe(record.eventId);
  });

  it('is a UUID of version 8 for messages of any size, the same each time, another for another message', () => {
    for (const size of [0, 1, 64 * 1024 - 1, 64 * 1024, 1_000_000]) {
      const id = eventIdOf(subscriptionId, Buffer.alloc(size));
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(eventIdOf(subscriptionId, Buffer.alloc(size))).toBe(id);
      expect(eventIdOf(subscriptionId, Buffer.alloc(size + 1))).not.toBe(id);
      expect(eventIdOf(subscriptionId.replace('7', '8'), Buffer.alloc(size))).not.toBe(id);
    }
  });
});
