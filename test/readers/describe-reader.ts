import { beforeAll, describe, expect, inject, it } from 'vitest';
import { byId, faultsOf } from './compare-records.ts';
import type { ReadRecord } from './programs/run-program.ts';
import type { Reader } from './readers.ts';
import { ALL_CELLS, type Cell, type Topic } from './records/cells.ts';
import type { RecordsPlace } from './records/fill-topics.ts';
import { type ExpectedRecord, readRecords } from './records/record-list.ts';

/** Has a reader read all that was sent, and compares record by record: one test for each cell of its rows in the table. */
export function describeReader(reader: Reader, read: (place: RecordsPlace) => Promise<ReadRecord[]>): void {
  describe(reader.name, () => {
    let expected: ExpectedRecord[];
    let found: ReadonlyMap<string, ReadRecord>;

    beforeAll(async () => {
      const place = inject('recordsPlace');
      expected = await readRecords(place.file);
      const start = performance.now();
      const records = await read(place);
      const seconds = ((performance.now() - start) / 1_000).toFixed(1);
      console.log(`${reader.name}: ${records.length} records in ${seconds} s`);
      found = byId(records);
      expect(records.length, 'each record is read once').toBe(expected.length);
    });

    it.each(ALL_CELLS)('reads %s of %s', (topic: Topic, cell: Cell) => {
      const wanted = expected.filter((record) => record.topic === topic && record.cell === cell);
      expect(wanted.length).toBeGreaterThan(0);
      expect(wanted.flatMap((record) => faultsOf(reader, record, found))).toEqual([]);
    });
  });
}
