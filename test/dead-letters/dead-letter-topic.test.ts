import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchesOf, rangesOf } from '../../src/dead-letters/dead-letter-topic.ts';
import { positionText } from '../../src/dead-letters/dead-letters.ts';
import { deadLetter } from '../support/dead-letter.ts';

describe('the passes that fetch positions', () => {
  const place = fc.record({ partition: fc.nat(3), offset: fc.nat(2_000).map(BigInt) });

  it('cover every position, with one range per partition in each, and skip wide gaps', () => {
    fc.assert(
      fc.property(fc.uniqueArray(place, { selector: positionText, maxLength: 60 }), (positions) => {
        const readings = rangesOf(positions);
        const covering = positions.map(({ partition, offset }) =>
          readings
            .flat()
            .filter((one) => one.partition === partition && one.from <= offset && offset < one.to),
        );
        expect(covering.map((ranges) => ranges.length)).toEqual(positions.map(() => 1));
        for (const ranges of readings) {
          const partitions = ranges.map(({ partition }) => partition);
          expect(new Set(partitions).size).toBe(partitions.length);
        }
        const read = readings.flat().reduce((sum, { from, to }) => sum + Number(to - from), 0);
        expect(read).toBeLessThanOrEqual(51 * positions.length);
      }),
    );
  });

  it('are one if the positions are close, and several if they are far apart', () => {
    const at = (...offsets: number[]) => offsets.map((offset) => ({ partition: 0, offset: BigInt(offset) }));
    expect(rangesOf(at(7, 5, 40))).toEqual([[{ partition: 0, from: 5n, to: 41n }]]);
    expect(rangesOf(at(5, 5_000))).toHaveLength(2);
    expect(rangesOf([])).toEqual([]);
  });
});

describe('batches of dead-letter records', () => {
  it('contain each one once, in the order of receipt, within the limits', () => {
    const wanted = fc.record({
      receivedAt: fc.integer({ min: 1, max: 1_000 }),
      bytes: fc.nat(80 * 1024 * 1024),
    });
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 40 }), (all) => {
        const deadLetters = all.map((one) => deadLetter(one));
        const batches = batchesOf(deadLetters);
        const flat = batches.flat().map(({ headers }) => Number(headers['hookline.received-at']));
        expect(flat).toEqual(all.map(({ receivedAt }) => receivedAt).sort((a, b) => a - b));
        expect(new Set(batches.flat())).toEqual(new Set(deadLetters));
        for (const batch of batches) {
          const bytes = batch.reduce((sum, one) => sum + one.bytes, 0);
          expect(batch.length === 1 || bytes <= 64 * 1024 * 1024).toBe(true);
        }
      }),
    );
  });

  it('are limited in number too, and use the time of the record if there is no time of receipt', () => {
    const many = Array.from({ length: 1_200 }, (_, n) => deadLetter({ time: 5_000 - n, bytes: 1 }));
    const batches = batchesOf(many);
    expect(batches.map((batch) => batch.length)).toEqual([500, 500, 200]);
    expect(batches[0]?.[0]?.time).toBe(5_000 - 1_199);
  });
});
