import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { portionsOf, rangesOf } from '../../../src/cli/dlq/dead-letter-topic.ts';
import { placeText } from '../../../src/cli/dlq/dead-letters.ts';
import { letter } from '../../support/dead-letter.ts';

describe('the readings that fetch places', () => {
  const place = fc.record({ partition: fc.nat(3), offset: fc.nat(2_000).map(BigInt) });

  it('cover every place, with one range per partition in each, and pass over wide gaps', () => {
    fc.assert(
      fc.property(fc.uniqueArray(place, { selector: placeText, maxLength: 60 }), (places) => {
        const readings = rangesOf(places);
        const covering = places.map(({ partition, offset }) =>
          readings
            .flat()
            .filter((one) => one.partition === partition && one.from <= offset && offset < one.to),
        );
        expect(covering.map((ranges) => ranges.length)).toEqual(places.map(() => 1));
        for (const ranges of readings) {
          const partitions = ranges.map(({ partition }) => partition);
          expect(new Set(partitions).size).toBe(partitions.length);
        }
        const read = readings.flat().reduce((sum, { from, to }) => sum + Number(to - from), 0);
        expect(read).toBeLessThanOrEqual(51 * places.length);
      }),
    );
  });

  it('are one where the places are near, and several where they are far apart', () => {
    const at = (...offsets: number[]) => offsets.map((offset) => ({ partition: 0, offset: BigInt(offset) }));
    expect(rangesOf(at(7, 5, 40))).toEqual([[{ partition: 0, from: 5n, to: 41n }]]);
    expect(rangesOf(at(5, 5_000))).toHaveLength(2);
    expect(rangesOf([])).toEqual([]);
  });
});

describe('portions of letters', () => {
  it('hold every letter once, in the order of receipt, within their bounds', () => {
    const wanted = fc.record({
      receivedAt: fc.integer({ min: 1, max: 1_000 }),
      bytes: fc.nat(80 * 1024 * 1024),
    });
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 40 }), (all) => {
        const letters = all.map((one) => letter(one));
        const portions = portionsOf(letters);
        const flat = portions.flat().map(({ headers }) => Number(headers['hookline.received-at']));
        expect(flat).toEqual(all.map(({ receivedAt }) => receivedAt).sort((a, b) => a - b));
        expect(new Set(portions.flat())).toEqual(new Set(letters));
        for (const portion of portions) {
          const bytes = portion.reduce((sum, one) => sum + one.bytes, 0);
          expect(portion.length === 1 || bytes <= 64 * 1024 * 1024).toBe(true);
        }
      }),
    );
  });

  it('are bounded in number too, and take a letter by its own time where it does not tell of a receipt', () => {
    const many = Array.from({ length: 1_200 }, (_, n) => letter({ time: 5_000 - n, bytes: 1 }));
    const portions = portionsOf(many);
    expect(portions.map((portion) => portion.length)).toEqual([500, 500, 200]);
    expect(portions[0]?.[0]?.time).toBe(5_000 - 1_199);
  });
});
