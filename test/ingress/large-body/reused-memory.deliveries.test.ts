import { describe, expect, it } from 'vitest';
import { encryptionKey } from '../../../src/crypto/keys.ts';
import { ClaimCheck } from '../../../src/delivery/claim-check.ts';
import type { WorkMemory } from '../../../src/delivery/ports.ts';
import { publishDelivery } from '../../../src/delivery/publish-delivery.ts';
import { ReusedMemory } from '../../../src/ingress/large-body/reused-memory.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { scriptedBodies } from '../../support/scripted-object-store.ts';
import { sealBody } from '../../support/seal.ts';
import { readVectors, type SealedVectors } from '../../support/vectors.ts';

const { encryptionKey: KEY } = readVectors<SealedVectors>('sealed.json');
const keys = [encryptionKey('x'.repeat(32), 0), encryptionKey(KEY, 1)];
/** Around the piece in which a ciphertext is opened, and twice it. */
const LENGTHS = [700_000, 262_144, 262_145, 262_143, 524_288, 100, 300_000];

const messageOf = (bytes: number, n: number) => {
  const head = `{"type":"payment-status","entityId":"e-${n}","x":"`;
  return `${head}${String(n).repeat(bytes - head.length - 2)}"}`;
};
const deliveries = LENGTHS.flatMap((bytes, n) => {
  const message = messageOf(bytes, n);
  return [verified(sealBody(KEY, message), 'octet-stream'), verified(message)];
});

/** The records of all of them, one after the other, each as it was when it was published. */
async function recordsOf(memory?: WorkMemory): Promise<Buffer[]> {
  const parts = deliveryParts();
  const records: Buffer[] = [];
  for (const delivery of deliveries) {
    await publishDelivery(delivery, {
      ...parts,
      ...(memory && { memory }),
      encryptionKeysOf: () => keys,
      async publish(record) {
        const value = record.value ?? expect.fail('no value');
        records.push(Buffer.from(value));
        memory?.give(value);
        return parts.publish(record);
      },
    });
  }
  expect(parts.seen.deadLettered).toEqual([]);
  return records;
}

describe('memory that is used again', () => {
  it('makes the records that fresh memory makes, whatever was in it before', async () => {
    const fresh = await recordsOf();
    expect(new Set(fresh.map(({ length }) => length)).size).toBe(LENGTHS.length);
    expect(
      (await recordsOf(new ReusedMemory())).map((record, n) => record.equals(fresh[n] as Buffer)),
    ).toEqual(fresh.map(() => true));
  });

  it('holds no message longer than until its record is made', async () => {
    const out = new Set<ArrayBufferLike>();
    const kept = new ReusedMemory();
    const memory: WorkMemory = {
      headroom: kept.headroom,
      take(bytes) {
        const taken = kept.take(bytes);
        out.add(taken.buffer);
        return taken;
      },
      give(bytes) {
        out.delete(bytes.buffer);
        kept.give(bytes);
      },
      drop(bytes) {
        out.delete(bytes.buffer);
        kept.drop(bytes);
      },
    };
    await recordsOf(memory);
    expect(out.size).toBe(0);
  });

  it.each([
    ['until it is there', undefined, [['created'], false]],
    ['until it is refused, and then an upload may still read it', 'refused' as const, [['refused'], true]],
  ])('holds a message that goes to the object store %s', async (_, fate, expected) => {
    const { bodies, store, written } = scriptedBodies(manualClock());
    store.fateOf = () => fate;
    const kept = new ReusedMemory();
    const given: unknown[] = [];
    const memory: WorkMemory = {
      headroom: kept.headroom,
      take: (bytes) => kept.take(bytes),
      give: (_bytes, { mayBeRead } = { mayBeRead: false }) => given.push([[...written], mayBeRead]),
      drop: (bytes) => kept.drop(bytes),
    };
    const parts = deliveryParts({ claims: new ClaimCheck(bodies, 2_000) });
    const sealed = verified(sealBody(KEY, messageOf(300_000, 1)), 'octet-stream');
    await publishDelivery(sealed, { ...parts, memory }).catch(() => {});
    expect(given).toEqual([expected]);
  });
});
