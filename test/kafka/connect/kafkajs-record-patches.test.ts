import '../../../src/kafka/connect/client-patches.ts';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

type Message = {
  offset: string;
  timestamp: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
};
type Given = {
  key?: Buffer | null | undefined;
  value?: Buffer | null | undefined;
  headers?: Record<string, string | Buffer>;
};
type Coded = { readonly buffer: Buffer };

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => object;
const decodeMessages = require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js') as (
  decoder: object,
) => Promise<Message[]>;
/** kafkajs' own, of one batch. */
const decodeBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder.js') as (
  decoder: object,
) => Promise<{ records: Message[] }>;
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0/index.js') as {
  RecordBatch(parts: object): Promise<Coded>;
};
const record = require('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (parts: object) => Coded;

const GZIP = 1;

async function batchOf(given: readonly Given[], parts: object = {}): Promise<Buffer> {
  const records = given.map(({ key = null, value = null, headers = {} }, n) =>
    record({ offsetDelta: n, timestampDelta: n, key, value, headers }),
  );
  const lastOffsetDelta = given.length - 1;
  const times = { firstTimestamp: 1_700_000_000_000, maxTimestamp: 1_700_000_000_000 + lastOffsetDelta };
  return (await RecordBatch({ firstOffset: 5_000_000_000, lastOffsetDelta, ...times, ...parts, records }))
    .buffer;
}

/** As the brokers answer: the batches behind their length. */
function answerOf(...batches: readonly Buffer[]): object {
  const all = Buffer.concat(batches);
  const length = Buffer.alloc(4);
  length.writeInt32BE(all.length);
  return new Decoder(Buffer.concat([length, all]));
}

/** Seven bytes each. */
function tinyRecords(count: number): Buffer {
  const records = Buffer.alloc(count * 9);
  let at = 0;
  for (let n = 0; n < count; n++) {
    const delta: number[] = [];
    let left = 2 * n;
    for (; left > 127; left >>>= 7) delta.push((left & 127) | 128);
    delta.push(left);
    const body = [0, 0, ...delta, 1, 1, 0];
    at += records.write(Buffer.from([2 * body.length, ...body]).toString('latin1'), at, 'latin1');
  }
  return records.subarray(0, at);
}

/** A batch whose head says what its records are, which are these bytes. */
async function batchAround(records: Buffer, count: number, attributes = 0): Promise<Buffer> {
  const head = (await batchOf([{}])).subarray(0, 61);
  const batch = Buffer.concat([head, records]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt16BE(attributes, 21);
  batch.writeInt32BE(count - 1, 23);
  batch.writeInt32BE(count, 57);
  return batch;
}

const bytes = fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some));
const given: fc.Arbitrary<Given[]> = fc.array(
  fc.record({
    key: fc.option(bytes),
    value: fc.option(bytes),
    // Of names such as valueOf it makes something else.
    headers: fc.dictionary(
      fc.string().map((name) => `h ${name}`),
      bytes,
      { noNullPrototype: true, maxKeys: 5 },
    ),
  }),
  { minLength: 1, maxLength: 20 },
);

describe('a batch', () => {
  it('is read as kafkajs itself reads it', async () => {
    await fc.assert(
      fc.asyncProperty(given, fc.boolean(), fc.boolean(), async (records, isPacked, transactional) => {
        const batch = await batchOf(records, {
          compression: isPacked ? GZIP : 0,
          transactional,
          producerId: 7,
        });
        const [seen, { records: expected }] = await Promise.all([
          decodeMessages(answerOf(batch)),
          decodeBatch(new Decoder(batch)),
        ]);
        const shown = ({
          offset,
          timestamp,
          key,
          value,
          headers,
          isControlRecord,
          batchContext,
        }: Message) => {
          const { producerId, inTransaction } = batchContext;
          return { offset, timestamp, key, value, headers, isControlRecord, producerId, inTransaction };
        };
        expect(seen.map(shown)).toEqual(expected.map(shown));
      }),
      { numRuns: 200 },
    );
  });

  it('whose record has 200,000 headers takes no time, and a hundred of them are read', async () => {
    const headers = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`h${n}`, '']));
    const batch = await batchOf([{ value: Buffer.from('v'), headers }]);
    const began = performance.now();
    const [message] = await decodeMessages(answerOf(batch));
    expect(Object.keys(message?.headers ?? {})).toEqual(Object.keys(headers).slice(0, 100));
    expect(String(message?.value)).toBe('v');
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('may have more records than a call takes arguments, in little more memory than their bytes', async () => {
    const batch = await batchAround(tinyRecords(500_000), 500_000);
    const messages = await decodeMessages(answerOf(batch));
    expect(messages.length).toBe(500_000);
    expect(messages.at(-1)).toMatchObject({ offset: '5000499999', key: null, value: null });
  });

  it.each([
    ['has another checksum', (packed: Buffer) => Buffer.concat([packed.subarray(0, -8), Buffer.alloc(8)])],
    ['is cut off', (packed: Buffer) => packed.subarray(0, -6)],
    ['is none', () => Buffer.from('nothing of the kind')],
  ])('whose packed form %s is one record, in the place of its last', async (_, damage) => {
    const damaged = damage(gzipSync(tinyRecords(3)));
    const last = await batchOf([{ value: Buffer.from('behind') }], { firstOffset: 5_000_000_003 });
    const messages = await decodeMessages(answerOf(await batchAround(damaged, 3, GZIP), last));
    expect(messages.map(({ offset, value }) => [offset, String(value)])).toEqual([
      ['5000000002', String(damaged)],
      ['5000000003', 'behind'],
    ]);
    expect(messages[0]).toMatchObject({
      key: null,
      headers: {},
      isControlRecord: false,
      timestamp: '1700000000000',
    });
  });

  it('whose records end before their time is one record too', async () => {
    const messages = await decodeMessages(answerOf(await batchAround(tinyRecords(3), 4)));
    expect(messages.map(({ offset }) => offset)).toEqual(['5000000003']);
  });

  // Of packed records, brokers read the fields alone, and take any length before them.
  it.each([
    ['is shorter than its fields', [8, 0, 0, 0, 1, 16, 12, 0, 0, 2, 0x90, 0x4e, 0x41, 0x41, 0x41, 0]],
    ['is longer', [16, 0, 0, 0, 1, 1, 0, 12, 0]],
    ['holds a key that is longer', [12, 0, 0, 0, 0x90, 0x4e, 1, 0]],
    ['holds more headers than it has', [12, 0, 0, 0, 1, 1, 8]],
    ['is that of another place', [12, 0, 0, 40, 1, 1, 0]],
    ['is that of one before the batch', [12, 0, 0, 41, 1, 1, 0]],
    ['holds a time without end', [244, 2, 0, ...new Array<number>(180).fill(128), 1, 0, 1, 1, 0]],
  ])('whose record %s is one record too', async (_, record) => {
    const packed = gzipSync(Buffer.from(record));
    const messages = await decodeMessages(answerOf(await batchAround(packed, 1, GZIP)));
    expect(messages.map(({ offset, value }) => [offset, value])).toEqual([['5000000000', packed]]);
  });

  it('with a few bytes changed throws nothing, when it is decoded or when its records are read', async () => {
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }));
    await fc.assert(
      fc.asyncProperty(given, fc.array(change, { minLength: 1, maxLength: 4 }), async (records, changes) => {
        const batch = Buffer.from(await batchOf(records));
        for (const [at, byte] of changes) batch[61 + (at % (batch.length - 61))] = byte;
        for (const message of await decodeMessages(answerOf(batch))) {
          const { key, value, headers, timestamp } = message;
          expect([key, value, headers, timestamp]).not.toContain(undefined);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('without records, as compaction leaves one, has none', async () => {
    expect(await decodeMessages(answerOf(await batchAround(Buffer.alloc(0), 0, GZIP)))).toEqual([]);
  });

  it('at which an answer ends comes with the next one', async () => {
    const batch = await batchOf([{ value: Buffer.from('a') }]);
    expect(await decodeMessages(answerOf(batch, batch.subarray(0, -1)))).toHaveLength(1);
  });
});

it('a key and a value keep no more than themselves', async () => {
  const all = await batchOf([
    { key: Buffer.alloc(9, 'k'), value: Buffer.alloc(9, 'v') },
    { value: Buffer.alloc(1e6) },
  ]);
  const [first] = await decodeMessages(answerOf(all));
  for (const one of [first?.key, first?.value]) expect(one?.buffer.byteLength).toBeLessThan(100_000);
});
