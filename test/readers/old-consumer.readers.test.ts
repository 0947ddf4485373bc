import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { byId, firstDifference } from './compare-records.ts';
import { CONSUMER, javaProgram } from './programs/java.ts';
import { pythonProgram } from './programs/python.ts';
import { type Program, type ReadRecord, runReader } from './programs/run-program.ts';
import type { Cell } from './records/cells.ts';
import { OLD_SCHEMAS } from './records/old-records.ts';
import { type ExpectedRecord, type Fields, readRecords } from './records/record-list.ts';

/** The schema that a consumer of 0.x was built with, and keeps. */
const SCHEMA = join(OLD_SCHEMAS, 'events/payment-status.avsc');

const CONSUMERS: readonly (readonly [string, () => Promise<Program>, string])[] = [
  [
    'Avro for Java',
    () => javaProgram(CONSUMER, 'readers.ReadWithAvro', [SCHEMA]),
    'Found null, expecting string',
  ],
  [
    'fastavro',
    () => pythonProgram('read_with_fastavro.py', [SCHEMA]),
    "schema mismatch: ['null', 'string'] not found in string",
  ],
];

describe.each(CONSUMERS)('a consumer that keeps its schema of 0.x, with %s', (_, program, refusal) => {
  let expected: ExpectedRecord[];
  let found: ReadonlyMap<string, ReadRecord>;

  beforeAll(async () => {
    const place = inject('recordsPlace');
    expected = (await readRecords(place.file)).filter(({ topic }) => topic === 'payment-status');
    const topics = new Set(expected.map(({ fullTopic }) => fullTopic));
    found = byId(await runReader(await program(), place, { TOPICS: [...topics].join() }));
  });

  const of = (cells: readonly Cell[]) => expected.filter(({ cell }) => cells.includes(cell));
  const read = ({ fullTopic, key }: ExpectedRecord) => found.get(`${fullTopic} ${key}`);

  it.each(['0.1', '1.0', '1.1', '50 MB in the record'] as const)(
    'reads %s, without the newer fields',
    (cell) => {
      const wanted = of([cell]);
      expect(wanted.length).toBeGreaterThan(0);
      for (const record of wanted)
        expect(firstDifference(read(record)?.value, withoutNewerFields(record.value))).toBeNull();
    },
  );

  it('fails at records whose source is null, and says so', () => {
    const references = of(['1.0, reference', '1.1, reference', '20 × 50 MB, reference']);
    expect(references.length).toBe(23);
    for (const record of references) expect(read(record)).toMatchObject({ value: null, error: refusal });
  });
});

function withoutNewerFields({ sourceRef: _, reason: __, ...older }: Fields): Fields {
  return older;
}
