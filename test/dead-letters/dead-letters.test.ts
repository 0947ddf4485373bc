import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutgoingRecord } from '../../src/core/record.ts';
import type { DeadLetterRecord } from '../../src/dead-letters/dead-letter-record.ts';
import { type DeadLetter, DeadLetterIndex, stateOf } from '../../src/dead-letters/dead-letters.ts';
import { dismissalMarkers, redriveMarkers } from '../../src/dead-letters/markers.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';

let offset = 0n;
const record = (headers: Record<string, string>, more: Partial<DeadLetterRecord> = {}): DeadLetterRecord => ({
  partition: 2,
  offset: offset++,
  timestamp: 1_000,
  key: 'event-1',
  bytes: 10,
  headers,
  ...more,
});
const delivery = (eventId: string, part = 1, parts = 1, more: Record<string, string> = {}) => ({
  [NAMES.stage]: 'PRODUCE',
  [NAMES.eventId]: eventId,
  [NAMES.receivedAt]: '900',
  [NAMES.part]: String(part),
  [NAMES.parts]: String(parts),
  ...more,
});

function lettersOf(records: readonly DeadLetterRecord[]) {
  const index = new DeadLetterIndex();
  for (const one of records) index.take(one);
  return index.deadLetters();
}

/** The marker as it is read back. */
const markerFor = (records: readonly DeadLetterRecord[], timestamp = 5_000) =>
  readBack(only(redriveMarkers(only(lettersOf(records)), 't[0]@7', 'dead-letter')), timestamp);

const DISMISSAL = { reason: 'test data', by: 'ops' };
const dismissalFor = (records: readonly DeadLetterRecord[], timestamp = 5_000) =>
  readBack(only(dismissalMarkers(only(lettersOf(records)), DISMISSAL, 'dead-letter')), timestamp);

function readBack({ key, headers }: OutgoingRecord, timestamp: number): DeadLetterRecord {
  const texts = [...headers].map(([name, value]) => [name.toString(), value.toString()]);
  return record(Object.fromEntries(texts), { timestamp, bytes: 0, key: key.toString() });
}

const only = <T>(items: readonly T[]): T =>
  items.length === 1 ? (items[0] as T) : expect.fail(`${items.length} items`);

describe('records of the dead-letter topic', () => {
  it('are joined to one delivery from all its parts, in any order', () => {
    const parts = [1, 2, 3, 4].map((part) => record(delivery('a', part, 4)));
    fc.assert(
      fc.property(fc.shuffledSubarray(parts, { minLength: 4 }), (shuffled) => {
        const deadLetter = only(lettersOf(shuffled));
        expect(deadLetter.positions.map((place) => place.offset)).toEqual(parts.map((part) => part.offset));
        expect([stateOf(deadLetter), deadLetter.bytes, deadLetter.at]).toEqual([
          'open',
          40,
          `2:${parts[0]?.offset}`,
        ]);
      }),
    );
  });

  it('list the missing parts', () => {
    const deadLetter = only(lettersOf([2, 4].map((part) => record(delivery('a', part, 5)))));
    expect([stateOf(deadLetter), deadLetter.missing, deadLetter.parts]).toEqual(['incomplete', [1, 3, 5], 5]);
  });

  it('use no memory for parts that a header only claims', () => {
    const deadLetter = only(lettersOf([record(delivery('a', 2, 100_000))]));
    expect([stateOf(deadLetter), deadLetter.parts, deadLetter.missing.length]).toEqual([
      'incomplete',
      100_000,
      100,
    ]);
  });

  it('count a part that was written twice once, and keep both positions', () => {
    const records = [1, 1, 2].map((part) => record(delivery('a', part, 2)));
    const deadLetter = only(lettersOf(records));
    expect([deadLetter.positions.length, deadLetter.copies.length, deadLetter.missing]).toEqual([2, 3, []]);
  });

  it('are separate if one event was delivered at different times, or dead-lettered again by a redrive', () => {
    const records = [
      record(delivery('a')),
      record(delivery('a', 1, 1, { [NAMES.receivedAt]: '901' })),
      record(delivery('a', 1, 1, { [NAMES.redrivenAt]: '950', [NAMES.redriveCount]: '1' })),
    ];
    expect(lettersOf(records)).toHaveLength(3);
  });

  it('leave out parts of an attempt that was repeated and then stored completely', () => {
    const left = record(delivery('a', 3, 3));
    const whole = [1, 2].map((part) => record(delivery('a', part, 2, { [NAMES.receivedAt]: '999' })));
    expect(only(lettersOf([left, ...whole])).parts).toBe(2);
    expect(lettersOf([record(delivery('b', 3, 3)), ...whole])).toHaveLength(2);
  });

  it.each([
    ['whole', (): DeadLetterRecord[] => [record(delivery('a'))]],
    ['in parts', () => [1, 2, 3].map((part) => record(delivery('a', part, 3)))],
    ['written twice', () => [record(delivery('a')), record(delivery('a'))]],
  ])('are redriven when a marker says so, deadLetters %s', (_, make) => {
    const records = make();
    const other = record(delivery('b'));
    const [deadLetter, open] = lettersOf([...records, markerFor(records), other]);
    expect(deadLetter?.redriven).toEqual({ at: 5_000, to: 't[0]@7' });
    expect(open?.redriven).toBeNull();
    expect(lettersOf([markerFor(records)])).toEqual([]);
  });

  it.each([
    ['of an event', () => record(delivery('a'), { key: 'a' }), 'b'],
    ['of a command', () => record({ [NAMES.stage]: 'COMMAND' }, { key: 'ledger-eu' }), 'ledger-us'],
    [
      'of an event, and not by that of a record without a key',
      () => record(delivery('a'), { key: 'a' }),
      '2:7',
    ],
    ['without a key, and not by that of an event', () => record({}, { key: null }), 'a'],
  ])(
    'are marked by a marker with their key alone: offsets shift where a topic is copied, %s',
    (_, make, other) => {
      const one = make();
      const marker = markerFor([one]);
      expect(stateOf(only(lettersOf([one, { ...marker, key: other }])))).toBe('open');
      expect(stateOf(only(lettersOf([one, marker])))).toBe('redriven');
      // As somebody else may write it.
      expect(stateOf(only(lettersOf([one, { ...marker, key: null }])))).toBe('redriven');
    },
  );

  it('in many parts stay redriven while retention deletes them one after the other', () => {
    const records = Array.from({ length: 45 }, (_, n) => record(delivery('a', n + 1, 45)));
    const marker = markerFor(records);
    const states = records.map((_, gone) => lettersOf([...records.slice(gone), marker]).map(stateOf));
    expect(states).toEqual(records.map(() => ['redriven']));
  });

  it('show the last redrive of several', () => {
    const records = [record(delivery('a'))];
    const markers = [markerFor(records, 6_000), markerFor(records, 7_000)];
    expect(only(lettersOf([...records, ...markers])).redriven?.at).toBe(7_000);
  });

  it('stay marked as redriven if a duplicate follows the marker', () => {
    const first = record(delivery('a'));
    const marker = markerFor([first]);
    expect(stateOf(only(lettersOf([first, marker, record(delivery('a'))])))).toBe('redriven');
  });

  it.each([
    ['whole', (): DeadLetterRecord[] => [record(delivery('a'))]],
    ['in parts', () => [1, 2, 3].map((part) => record(delivery('a', part, 3)))],
    ['with a missing part', () => [record(delivery('a', 2, 3))]],
    ['of a command', () => [record({ [NAMES.stage]: 'COMMAND', [NAMES.topic]: 'c', [NAMES.offset]: '4' })]],
    ['of somebody else', () => [record({}, { key: null })]],
  ])(
    'are dismissed when a marker says so, with reason and user, %s; a redrive on purpose counts more',
    (_, make) => {
      const records = make();
      const dismissed = only(lettersOf([...records, dismissalFor(records)]));
      expect([stateOf(dismissed), dismissed.dismissed]).toEqual(['dismissed', { at: 5_000, ...DISMISSAL }]);
      const redriven = only(lettersOf([...records, dismissalFor(records), markerFor(records, 6_000)]));
      expect([stateOf(redriven), redriven.dismissed?.by]).toEqual(['redriven', 'ops']);
    },
  );

  it('are forgotten by an index that follows the topic when retention has deleted them, and with their markers', () => {
    const old = [record(delivery('a'))];
    const marked = [record(delivery('b'))];
    const parted = [1, 2].map((part) => record(delivery('c', part, 2)));
    const index = new DeadLetterIndex();
    for (const one of [...old, ...marked, markerFor(marked), ...parted]) index.take(one);
    expect([index.size, index.unresolved().length]).toEqual([5, 2]);
    index.forgetBefore(new Map([[2, (parted[0]?.offset ?? 0n) + 1n]]));
    expect([index.size, index.deadLetters().map(stateOf)]).toEqual([1, ['incomplete']]);
    index.forgetBefore(new Map([[2, offset]]));
    expect([index.size, index.deadLetters()]).toEqual([0, []]);
  });

  it('are forgotten with attempts of the same delivery that were not stored whole, and not with others', () => {
    const first = record(delivery('a', 1, 2));
    const other = record(delivery('b', 1, 2));
    const whole = [1, 2].map((part) => record(delivery('a', part, 2, { [NAMES.receivedAt]: '999' })));
    const index = new DeadLetterIndex();
    for (const one of [first, other, ...whole, markerFor(whole)]) index.take(one);
    expect(index.forgetResolved()).toHaveLength(2);
    expect([index.size, index.unresolved().map(({ at }) => at)]).toEqual([1, [`2:${other.offset}`]]);
  });

  it('that nobody has redriven or dismissed are the unresolved ones, whatever the topic holds', () => {
    const texts = fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      part: fc.constantFrom(1, 2),
      parts: fc.constantFrom(1, 2),
      at: fc.constantFrom('900', '901'),
      end: fc.constantFrom('', 'redriven', 'dismissed'),
    });
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 8 }), (all) => {
        const records = all.flatMap(({ id, part, parts, at, end }) => {
          const one = record(delivery(id, part, parts, { [NAMES.receivedAt]: at }));
          if (end === '') return [one];
          return [one, end === 'redriven' ? markerFor([one]) : dismissalFor([one])];
        });
        const index = new DeadLetterIndex();
        for (const one of records) index.take(one);
        const isOpen = (deadLetter: DeadLetter) => ['open', 'incomplete'].includes(stateOf(deadLetter));
        const names = (deadLetters: readonly DeadLetter[]) => deadLetters.map(({ at }) => at).sort();
        expect(names(index.unresolved())).toEqual(names(index.deadLetters().filter(isOpen)));
        index.forgetResolved();
        expect(index.deadLetters().every(isOpen)).toBe(true);
      }),
    );
  });

  it('are marked by the first hundred positions of a marker: a header may hold millions', () => {
    const index = new DeadLetterIndex();
    const positions = Array.from({ length: 200_000 }, (_, n) => `7:${n}`).join(',');
    index.take(record({ [NAMES.redriveOf]: positions }));
    expect(index.size).toBe(100);
  });

  it('are identified by the command, or by their own position if they are foreign', () => {
    const command = { [NAMES.stage]: 'COMMAND', [NAMES.topic]: 'commands', [NAMES.partition]: '0' };
    const records = [
      record({ ...command, [NAMES.offset]: '4' }),
      record({ ...command, [NAMES.offset]: '4' }),
      record({ ...command, [NAMES.offset]: '5' }),
      // Of a topic that was created anew.
      record({ ...command, [NAMES.offset]: '5', [NAMES.receivedAt]: '99' }),
      record({}, { key: null }),
      record({}),
    ];
    expect(lettersOf(records).map(({ copies }) => copies.length)).toEqual([2, 1, 1, 1, 1]);
  });

  it('with any headers cause no error, and an invalid count uses no memory', () => {
    const names = Object.values(NAMES);
    const texts = fc.oneof(
      fc.constantFrom('', '0', '1', '-1', '1e9', '99999999999', 'NaN', '2:3,x'),
      fc.string(),
    );
    const headers = fc.dictionary(fc.constantFrom(...names), texts);
    fc.assert(
      fc.property(fc.array(headers, { maxLength: 6 }), (all) => {
        const deadLetters = lettersOf(all.map((one) => record(one)));
        expect(deadLetters.length).toBeLessThanOrEqual(all.length);
        for (const deadLetter of deadLetters)
          expect(['open', 'redriven', 'dismissed', 'incomplete']).toContain(stateOf(deadLetter));
      }),
    );
  });
});
