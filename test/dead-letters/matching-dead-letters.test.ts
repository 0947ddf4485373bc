import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { positionText } from '../../src/core/record.ts';
import type { DeadLetterRecord } from '../../src/dead-letters/dead-letter-record.ts';
import { readAll } from '../../src/dead-letters/dead-letter-topic.ts';
import { type DeadLetter, DeadLetterIndex } from '../../src/dead-letters/dead-letters.ts';
import { parseFilter } from '../../src/dead-letters/filter.ts';
import { MatchingDeadLetters } from '../../src/dead-letters/matching-dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import type { OffsetRange } from '../../src/kafka/consume/range-reader.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
function memoryBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const recordAt = (
  partition: number,
  offset: number,
  headers: Record<string, string>,
  more: Partial<DeadLetterRecord> = {},
): DeadLetterRecord => ({
  partition,
  offset: BigInt(offset),
  timestamp: 1_000 + offset,
  key: null,
  bytes: 10,
  headers,
  ...more,
});
const delivery = (eventId: string, more: Record<string, string> = {}) => ({
  [NAMES.stage]: 'DECRYPT',
  [NAMES.code]: 'UNDECRYPTABLE',
  [NAMES.ref]: 'ledger-eu',
  [NAMES.eventId]: eventId,
  [NAMES.receivedAt]: '900',
  [NAMES.part]: '1',
  [NAMES.parts]: '1',
  ...more,
});
const part = (eventId: string, number: number, parts: number, more: Record<string, string> = {}) =>
  delivery(eventId, { [NAMES.part]: String(number), [NAMES.parts]: String(parts), ...more });

/** All that a dead-letter record tells, also where it is made when it is asked for. */
const plain = (one: DeadLetter) => ({
  at: one.at,
  positions: one.positions,
  copies: one.copies,
  missing: one.missing,
  parts: one.parts,
  time: one.time,
  bytes: one.bytes,
  object: one.object,
  key: one.key,
  headers: Object.entries(one.headers),
  redriven: one.redriven,
  dismissed: one.dismissed,
});

/** By the index of the whole topic, which holds everything. */
function expected(records: readonly DeadLetterRecord[], conditions: readonly string[]) {
  const index = new DeadLetterIndex();
  for (const one of records) index.take(one);
  return index.deadLetters().filter(parseFilter(conditions).matches).map(plain);
}

function matching(records: readonly DeadLetterRecord[], conditions: readonly string[]) {
  const selection = new MatchingDeadLetters(parseFilter(conditions));
  for (const one of records) selection.take(one);
  return { size: selection.size, deadLetters: selection.deadLetters().map(plain) };
}

type OnRecord = Parameters<Parameters<typeof readAll>[0]['read']>[1];

/** A topic that holds these records; which ranges are read of it. */
function topicOf(records: readonly DeadLetterRecord[]) {
  const readings: (readonly OffsetRange[])[] = [];
  const span = [0, 1, 2].map((partition) => ({ partition, from: 0n, to: 1_000n }));
  const reader = {
    span: async () => span,
    async read(
      ranges: readonly OffsetRange[],
      onRecord: Parameters<Parameters<typeof readAll>[0]['read']>[1],
    ) {
      readings.push(ranges);
      for (const { key, bytes, ...one } of records)
        if (ranges.some(({ partition, from, to }) => covers({ partition, from, to }, one)))
          onRecord({
            ...one,
            topic: 't',
            key: key === null ? null : Buffer.from(key),
            value: Buffer.alloc(bytes),
          });
    },
  };
  return { reader, readings, span };
}

const covers = ({ partition, from, to }: OffsetRange, one: Pick<DeadLetterRecord, 'partition' | 'offset'>) =>
  one.partition === partition && from <= one.offset && one.offset < to;

describe('what a filter selects while the topic is read', () => {
  const record = fc.record(
    {
      partition: fc.nat(2),
      kind: fc.constantFrom(
        'delivery',
        'delivery',
        'delivery',
        'command',
        'foreign',
        'redriven',
        'dismissed',
      ),
      id: fc.constantFrom('a', 'b', 'c'),
      receivedAt: fc.constantFrom('900', '901'),
      part: fc.integer({ min: 1, max: 4 }).map(String),
      parts: fc.constantFrom('1', '1', '2', '3'),
      stage: fc.constantFrom('DECRYPT', 'PARSE'),
      code: fc.constantFrom('UNDECRYPTABLE', 'NOT_JSON'),
      ref: fc.constantFrom('ledger-eu', 'ledger-us'),
      names: fc.array(fc.nat(14), { minLength: 1, maxLength: 3 }),
      other: fc.constantFrom({}, { 'x-trace': '1' }, { 'x-trace': '2' }, { [NAMES.redrivenAt]: '950' }),
      object: fc.boolean(),
      key: fc.constantFrom('a', 'other', null),
    },
    { noNullPrototype: true },
  );
  type Made = typeof record extends fc.Arbitrary<infer T> ? T : never;

  const made = (all: readonly Made[]) =>
    all.map((one, n) => {
      const named = one.names
        .map((at) => `${all[at % all.length]?.partition ?? 0}:${at % all.length}`)
        .join();
      const object = {
        [NAMES.bodyUri]: `s3://b/${n}`,
        [NAMES.bodyBytes]: '77',
        [NAMES.bodySha256]: 'f'.repeat(64),
      };
      const headers = {
        delivery: {
          [NAMES.stage]: one.stage,
          [NAMES.code]: one.code,
          [NAMES.ref]: one.ref,
          [NAMES.eventId]: one.id,
          [NAMES.receivedAt]: one.receivedAt,
          [NAMES.part]: one.part,
          [NAMES.parts]: one.parts,
          ...one.other,
          ...(one.object && object),
        },
        command: {
          [NAMES.stage]: 'COMMAND',
          [NAMES.topic]: 'c',
          [NAMES.offset]: one.id,
          [NAMES.code]: one.code,
        },
        foreign: { 'x-other': one.id, [NAMES.eventId]: one.id },
        redriven: {
          [NAMES.redriveOf]: named,
          [NAMES.redrivenTo]: ['t[0]@7', 't[0]@07', 't', ''][n % 4] ?? '',
        },
        dismissed: {
          [NAMES.dismissalOf]: named,
          [NAMES.dismissedBy]: one.id,
          [NAMES.dismissedReason]: one.ref,
        },
      }[one.kind] as Record<string, string>;
      return recordAt(one.partition, n, headers, { key: one.key, bytes: n });
    });
  const condition = fc.oneof(
    fc.constantFrom('stage=DECRYPT', 'stage=COMMAND', 'code=NOT_JSON', 'ref=ledger-us', 'id=a', 'id=b,c'),
    fc.constantFrom('state=open', 'state=incomplete', 'state=redriven,dismissed'),
    fc.constantFrom('since=1970-01-01T00:00:01.005Z', 'until=1970-01-01T00:00:01.006Z'),
    fc.constantFrom('at=0:0', 'at=0:1,1:2,2:3', 'at=1:5,2:999,7:3', 'at=0:4'),
  );
  const topic = fc.tuple(fc.array(record, { maxLength: 15 }), fc.array(condition, { maxLength: 2 }));

  it('is what it would select of an index of the whole topic, with the same positions, headers and marks', async () => {
    await fc.assert(
      fc.asyncProperty(topic, async ([all, conditions]) => {
        const records = made(all);
        const wanted = expected(records, conditions);
        expect(matching(records, conditions).deadLetters).toEqual(wanted);
        const read = await readAll(topicOf(records).reader, parseFilter(conditions));
        expect(read.map(plain)).toEqual(wanted);
      }),
      { numRuns: 1_000 },
    );
  }, 60_000);

  it('is all that is held: of other deliveries, of markers, and of what came in the same parts, no record is', () => {
    const others = Array.from({ length: 500 }, (_, n) =>
      recordAt(
        n % 3,
        n,
        n % 2 === 0 ? delivery(`event-${n}`, { [NAMES.ref]: 'other' }) : { [NAMES.redriveOf]: '0:1' },
      ),
    );
    const parts = [3, 1, 2].map((n) => recordAt(1, 600 + n, part('parted', n, 3, { [NAMES.ref]: 'other' })));
    const wanted = [recordAt(1, 700, delivery('wanted')), recordAt(2, 701, delivery('wanted'))];
    const { size, deadLetters } = matching([...others, ...parts, ...wanted], ['ref=ledger-eu']);
    expect([size, deadLetters.map(({ at }) => at)]).toEqual([2, ['1:700']]);
  });

  it('follows the part that comes later and is the first', () => {
    const records = [
      recordAt(0, 0, part('a', 2, 2, { [NAMES.code]: 'OTHER' })),
      recordAt(1, 1, part('a', 1, 2)),
      recordAt(0, 2, part('b', 2, 2)),
      recordAt(1, 3, part('b', 1, 2, { [NAMES.code]: 'OTHER' })),
    ];
    const { size, deadLetters } = matching(records, ['code=UNDECRYPTABLE']);
    expect([size, deadLetters.map(({ at, copies }) => [at, copies.length])]).toEqual([2, [['1:1', 2]]]);
  });

  it('is no later copy of a record that does not match, nor an attempt that was repeated under another code', () => {
    const other = { [NAMES.code]: 'OTHER' };
    const copied = [recordAt(0, 0, delivery('a', other)), recordAt(1, 1, delivery('a'))];
    expect(matching(copied, ['code=UNDECRYPTABLE']).deadLetters).toEqual([]);
    const again = { ...other, [NAMES.receivedAt]: '999' };
    const repeated = [recordAt(0, 0, part('b', 1, 3)), recordAt(0, 1, delivery('b', again))];
    expect(matching(repeated, ['code=UNDECRYPTABLE']).deadLetters).toEqual([]);
    expect(matching(repeated.slice(0, 1), ['code=UNDECRYPTABLE']).deadLetters).toHaveLength(1);
  });

  it('is not done by a marker of another event', () => {
    const one = recordAt(1, 1, delivery('a'), { key: 'a' });
    const markerOf = (key: string) => recordAt(0, 0, { [NAMES.redriveOf]: '1:1' }, { key });
    const redriven = (key: string) =>
      matching([one, markerOf(key)], []).deadLetters.map((found) => found.redriven !== null);
    expect([redriven('b'), redriven('a')]).toEqual([[false], [true]]);
  });

  it('is done if a marker came before it, or names one of its copies', () => {
    const marker = recordAt(0, 0, { [NAMES.redriveOf]: '1:1', [NAMES.redrivenTo]: 't[0]@7' });
    const copies = [recordAt(2, 1, delivery('a')), recordAt(1, 1, delivery('a'))];
    const { deadLetters } = matching([marker, ...copies], []);
    expect(deadLetters).toMatchObject([{ at: '2:1', redriven: { at: 1_000, to: 't[0]@7' } }]);
  });
});

describe('a reading of the topic for chosen positions', () => {
  const records = Array.from({ length: 900 }, (_, n) => recordAt(n % 3, n, delivery(`event-${n >> 1}`)));

  it('reads these first, then the whole topic, and has all copies', async () => {
    const { reader, readings, span } = topicOf(records);
    const found = await readAll(reader, parseFilter(['at=1:601,9:9,0:5000']));
    expect(found.map(({ copies }) => copies.map(positionText))).toEqual([['0:600', '1:601']]);
    expect(readings).toEqual([[{ partition: 1, from: 601n, to: 602n }], span]);
  });

  it('holds nothing else', () => {
    const selection = new MatchingDeadLetters(parseFilter(['at=1:601']), records.slice(601, 602));
    for (const one of records) selection.take(one);
    expect(selection.size).toBe(2);
  });

  it('reads only the whole topic where many are named', async () => {
    const { reader, readings, span } = topicOf(records);
    const many = records.slice(0, 200).map(positionText).join();
    expect(await readAll(reader, parseFilter([`at=${many}`]))).toHaveLength(100);
    expect(readings).toEqual([span]);
  });
});

describe('the memory of a selection', () => {
  const COUNT = 20_000;
  /** As a client decodes them: no text shares its memory with another. */
  const decoded = (text: string) => Buffer.from(text).toString();
  const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const full = (n: number): Record<string, string> => ({
    ...delivery(uuid(n), {
      [NAMES.receivedAt]: String(1_795_000_000_000 + n),
      [NAMES.connector]: 'hookline',
    }),
    [NAMES.message]: 'no encryption key of the ref opens the body',
    [NAMES.mediaType]: 'octet-stream',
    [NAMES.subscriptionId]: uuid(0),
  });
  const redriveOf = (n: number) => ({
    [NAMES.redriveOf]: `${n % 3}:${n}`,
    [NAMES.redrivenTo]: `payments.payment-status[0]@${n}`,
  });

  it.each([
    ['record that matches', 'code=UNDECRYPTABLE', full, 450],
    ['record that does not', 'code=NOT_JSON', full, 250],
    ['record with another position', 'at=0:3', full, 250],
    ['marker', 'code=NOT_JSON', redriveOf, 180],
  ])('is small for a %s', async (_, condition, headersOf, most) => {
    const before = memoryBytes();
    const reader = {
      span: async () => [0, 1, 2].map((partition) => ({ partition, from: 0n, to: BigInt(COUNT) })),
      async read(ranges: readonly OffsetRange[], onRecord: OnRecord) {
        for (let n = 0; n < COUNT; n++) {
          const at = { partition: n % 3, offset: BigInt(n) };
          const texts = Object.entries(headersOf(n)).map(([name, text]) => [name, decoded(text)]);
          const headers: Record<string, string> = Object.fromEntries(texts);
          const key = Buffer.from(headers[NAMES.eventId] ?? '');
          if (ranges.some((range) => covers(range, at)))
            onRecord({ ...at, topic: 't', timestamp: 1_795_000_000_000 + n, key, value: null, headers });
        }
        held = (memoryBytes() - before) / COUNT;
      },
    };
    let held = Number.NaN;
    await readAll(reader, parseFilter([condition]));
    expect(held).toBeLessThan(most);
  });
});
