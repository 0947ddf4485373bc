import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { murmur2, partitionOf } from '../../../src/kafka/produce/topic-queues.ts';
import { readVectors } from '../../support/vectors.ts';

const vectors = readVectors<{ key: string; murmur2: number }[]>('murmur2.json');

describe('the partitioner', () => {
  it.each(vectors)("hashes $key as Kafka's own client does", ({ key, murmur2: expected }) => {
    expect(murmur2(Buffer.from(key))).toBe(expected);
  });

  it('chooses the partition that other clients choose', () => {
    const others = kafkajs.Partitioners.DefaultPartitioner();
    for (const { key } of vectors)
      for (const count of [1, 2, 6, 600]) {
        const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({ partitionId }));
        const message = { key: Buffer.from(key), value: null };
        const theirs = others({ topic: 't', partitionMetadata, message } as never);
        expect(partitionOf(message.key, count)).toBe(theirs);
      }
  });

  it('stays within the partitions, and spreads keys over all of them', () => {
    const counts = new Array(6).fill(0);
    for (let n = 0; n < 6_000; n++) counts[partitionOf(Buffer.from(`entity-${n}`), 6)]++;
    expect(counts.every((count) => count > 800 && count < 1_200)).toBe(true);
  });

  it('reads no bytes beside the key: one cut out of a larger buffer hashes the same', () => {
    const whole = Buffer.from('xxentity-7yy');
    expect(murmur2(whole.subarray(2, 10))).toBe(murmur2(Buffer.from('entity-7')));
  });
});
