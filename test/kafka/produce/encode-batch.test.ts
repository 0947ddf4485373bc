import '../../../src/kafka/connect/client-patches.ts';
import { produceV9, produceV10, produceV11, Reader, readRecordsBatch } from '@platformatic/kafka';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeProduce, isEncodedHere } from '../../../src/kafka/produce/encode-batch.ts';

const bytes = (most: number) =>
  fc.uint8Array({ maxLength: most, size: 'max' }).map((made) => Buffer.from(made));

const NOW = 1_795_168_800_000n;

const record = fc.record({
  key: bytes(200),
  value: fc.oneof(fc.constant(null), bytes(3_000)),
  headers: fc
    .array(fc.tuple(bytes(70), bytes(200)), { maxLength: 9 })
    .map((headers) => new Map<Buffer, Buffer>(headers)),
  // A clock may be set back; what is further away than 24 days the client writes wrongly.
  timestamp: fc.bigInt({ min: NOW - 1_000_000_000n, max: NOW + 1_000_000_000n }),
});
const batch = fc.record({
  topic: fc.stringMatching(/^[a-z.é-]{1,249}$/u),
  partition: fc.nat(70_000),
  records: fc.oneof(
    fc.array(record, { minLength: 1, maxLength: 5 }),
    fc.array(record, { minLength: 60, maxLength: 140 }),
  ),
  bytes: fc.constant(0),
  isAlone: fc.constant(false),
  mayBegin: fc.constant(() => true),
});

/** As a request may have them: each partition once, and in the order in which the client lays them. */
const batches = fc
  .uniqueArray(
    fc.oneof(
      batch,
      batch.map((one) => ({ ...one, topic: 't' })),
    ),
    { minLength: 1, maxLength: 4, selector: ({ topic, partition }) => `${topic} ${partition}` },
  )
  .map((unordered) => unordered.toSorted((a, b) => a.partition - b.partition));

it.each([
  ['9', produceV9],
  ['10', produceV10],
  ['11', produceV11],
])('a request is the one that the client makes, version %s', (_version, { createRequest }) => {
  fc.assert(
    fc.property(batches, fc.integer({ min: 1, max: 600_000 }), (batches, timeoutMs) => {
      const messages = batches.flatMap(({ topic, partition, records }) =>
        records.map((one) => ({ topic, partition, ...one, value: one.value as Buffer })),
      );
      const expected = createRequest(-1, timeoutMs, messages, {}).buffer;
      expect(encodeProduce(batches, timeoutMs).buffer.equals(expected)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

it('a timestamp may be years from that of the first record', () => {
  const timestamps = [NOW, 0n, NOW - 2_147_483_649n, NOW + 2_147_483_648n, 9_000_000_000_000n];
  const records = timestamps.map((timestamp) => ({
    key: Buffer.from('k'),
    value: Buffer.from('v'),
    headers: new Map(),
    timestamp,
  }));
  const request = encodeProduce(
    [{ topic: 't', partition: 0, records, bytes: 0, isAlone: false, mayBegin: () => true }],
    1_000,
  ).buffer;
  // Behind what stands before the batch of a topic with a name of one character.
  const batch = readRecordsBatch(Reader.from(request.subarray(16)));
  expect(batch.records.map(({ timestampDelta }) => batch.firstTimestamp + timestampDelta)).toEqual(
    timestamps,
  );
  expect(batch.maxTimestamp).toBe(9_000_000_000_000n);
});

it('a single large record is left to the client, which lays it into its request in place', () => {
  const one = (length: number) => ({
    topic: 't',
    partition: 0,
    bytes: 0,
    isAlone: false,
    mayBegin: () => true,
    records: [{ key: Buffer.from('k'), value: Buffer.alloc(length), headers: new Map(), timestamp: 0n }],
  });
  expect([1, 65_536, 65_537].map((length) => isEncodedHere(one(length)))).toEqual([true, true, false]);
  const tombstone = {
    ...one(0),
    records: [{ key: Buffer.from('k'), value: null, headers: new Map(), timestamp: 0n }],
  };
  expect(isEncodedHere(tombstone)).toBe(true);
});
