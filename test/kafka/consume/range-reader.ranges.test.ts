import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { positionText } from '../../../src/core/record.ts';
import { offsetsIn, rangesOf } from '../../../src/kafka/consume/range-reader.ts';

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
        const read = offsetsIn(readings.flat());
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
