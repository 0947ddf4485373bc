import { beforeAll, describe, expect, inject, it } from 'vitest';
import { byId, faultsOf } from './compare-records.ts';
import { describeReader } from './describe-reader.ts';
import { readWithIceberg } from './programs/iceberg.ts';
import { ICEBERG } from './readers.ts';
import { copyRecords } from './records/copy-records.ts';
import type { RecordsPlace } from './records/fill-topics.ts';
import { type ExpectedRecord, readRecords } from './records/record-list.ts';

describeReader(ICEBERG, (place) => readWithIceberg(place));

describe('an Iceberg table that begins with a record of 1.0', () => {
  const fullTopic = 'newest-first.payment-status';
  let place: RecordsPlace;
  let expected: ExpectedRecord[];

  beforeAll(async () => {
    place = inject('recordsPlace');
    const keys = ['1.0-full', '0.1-full', '1.1-full'];
    const sent = await readRecords(place.file);
    expected = sent
      .filter(({ topic, key }) => topic === 'payment-status' && keys.includes(key))
      .map((record) => ({ ...record, fullTopic }));
    const from = String(sent.find(({ key }) => key === '0.1-full')?.fullTopic);
    await copyRecords(place, from, keys, fullTopic);
    place = { ...place, topics: { [fullTopic]: keys.length } };
  });

  it('takes 0.1 and 1.1 behind it', async () => {
    const found = byId(await readWithIceberg(place));
    expect(expected).toHaveLength(3);
    expect(expected.flatMap((record) => faultsOf(ICEBERG, record, found))).toEqual([]);
  }, 240_000);

  it('refuses a null among the transactions of 0.1 unless all columns are optional', async () => {
    const settings = { 'iceberg.tables.schema-force-optional': 'false' };
    await expect(readWithIceberg(place, settings)).rejects.toThrow(/"struct" is null/);
  }, 240_000);
});
