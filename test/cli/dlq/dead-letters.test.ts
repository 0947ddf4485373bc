import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadLetterIndex, type DeadLetterRecord, stateOf } from '../../../src/cli/dlq/dead-letters.ts';
import { redriveMarker } from '../../../src/cli/dlq/redrive-delivery.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/store-dead-letter.ts';

let offset = 0n;
const record = (headers: Record<string, string>, more: Partial<DeadLetterRecord> = {}): DeadLetterRecord => ({
  ...{ partition: 2, offset: offset++, timestamp: 1_000, key: 'event-1', bytes: 10 },
  headers,
  ...more,
});
const delivery = (eventId: string, part = 1, parts = 1, more: Record<string, string> = {}) => ({
  ...{ [NAMES.stage]: 'PRODUCE', [NAMES.eventId]: eventId, [NAMES.receivedAt]: '900' },
  ...{ [NAMES.part]: String(part), [NAMES.parts]: String(parts) },
  ...more,
});

function lettersOf(records: readonly DeadLetterRecord[]) {
  const index = new DeadLetterIndex();
  for (const one of records) index.take(one);
  return index.letters();
}

/** The marker as it is read back. */
function markerFor(records: readonly DeadLetterRecord[], timestamp = 5_000): DeadLetterRecord {
  const [letter] = lettersOf(records);
  const { headers } = redriveMarker(letter ?? expect.fail('no letter'), 't[0]@7', 'dead-letter');
  const texts = [...headers].map(([name, value]) => [name.toString(), value.toString()]);
  return record(Object.fromEntries(texts), { timestamp, bytes: 0 });
}

const only = <T>(items: readonly T[]): T =>
  items.length === 1 ? (items[0] as T) : expect.fail(`${items.length} items`);

describe('the dead letters that records make up', () => {
  it('are one for all parts of a delivery, in order, however they came', () => {
    const parts = [1, 2, 3, 4].map((part) => record(delivery('a', part, 4)));
    fc.assert(
      fc.property(fc.shuffledSubarray(parts, { minLength: 4 }), (shuffled) => {
        const letter = only(lettersOf(shuffled));
        expect(letter.places.map((place) => place.offset)).toEqual(parts.map((part) => part.offset));
        expect([stateOf(letter), letter.bytes, letter.at]).toEqual(['open', 40, `2:${parts[0]?.offset}`]);
      }),
    );
  });

  it('name the parts that are not there', () => {
    const letter = only(lettersOf([2, 4].map((part) => record(delivery('a', part, 5)))));
    expect([stateOf(letter), letter.missing, letter.parts]).toEqual(['incomplete', [1, 3, 5], 5]);
  });

  it('take no more memory for a number of parts that is only claimed', () => {
    const letter = only(lettersOf([record(delivery('a', 2, 100_000))]));
    expect([stateOf(letter), letter.parts, letter.missing.length]).toEqual(['incomplete', 100_000, 100]);
  });

  it('count a part that was written twice once, and know of both', () => {
    const records = [1, 1, 2].map((part) => record(delivery('a', part, 2)));
    const letter = only(lettersOf(records));
    expect([letter.places.length, letter.copies.length, letter.missing]).toEqual([2, 3, []]);
  });

  it('keep deliveries of one event apart that came at other times, and what a redrive parked anew', () => {
    const records = [
      record(delivery('a')),
      record(delivery('a', 1, 1, { [NAMES.receivedAt]: '901' })),
      record(delivery('a', 1, 1, { [NAMES.redrivenAt]: '950', [NAMES.redriveCount]: '1' })),
    ];
    expect(lettersOf(records)).toHaveLength(3);
  });

  it('leave out what an attempt left behind whose repetition was stored whole', () => {
    const left = record(delivery('a', 3, 3));
    const whole = [1, 2].map((part) => record(delivery('a', part, 2, { [NAMES.receivedAt]: '999' })));
    expect(only(lettersOf([left, ...whole])).parts).toBe(2);
    expect(lettersOf([record(delivery('b', 3, 3)), ...whole])).toHaveLength(2);
  });

  it.each([
    ['whole', (): DeadLetterRecord[] => [record(delivery('a'))]],
    ['in parts', () => [1, 2, 3].map((part) => record(delivery('a', part, 3)))],
    ['written twice', () => [record(delivery('a')), record(delivery('a'))]],
  ])('are redriven when a marker says so, letters %s', (_, make) => {
    const records = make();
    const other = record(delivery('b'));
    const [letter, open] = lettersOf([...records, markerFor(records), other]);
    expect(letter?.redriven).toEqual({ at: 5_000, to: 't[0]@7' });
    expect(open?.redriven).toBeNull();
    expect(lettersOf([markerFor(records)])).toEqual([]);
  });

  it('tell the last redrive of several', () => {
    const records = [record(delivery('a'))];
    const markers = [markerFor(records, 6_000), markerFor(records, 7_000)];
    expect(only(lettersOf([...records, ...markers])).redriven?.at).toBe(7_000);
  });

  it('stay marked when a second copy of the letter comes behind the marker', () => {
    const first = record(delivery('a'));
    const marker = markerFor([first]);
    expect(stateOf(only(lettersOf([first, marker, record(delivery('a'))])))).toBe('redriven');
  });

  it('are told by their command, or by their place where nobody says what they are', () => {
    const command = { [NAMES.stage]: 'COMMAND', [NAMES.topic]: 'commands', [NAMES.partition]: '0' };
    const records = [
      record({ ...command, [NAMES.offset]: '4' }),
      record({ ...command, [NAMES.offset]: '4' }),
      record({ ...command, [NAMES.offset]: '5' }),
      record({}, { key: null }),
      record({}),
    ];
    expect(lettersOf(records).map(({ copies }) => copies.length)).toEqual([2, 1, 1, 1]);
  });

  it('are made of any headers without an error, and a count that is none fills no memory', () => {
    const names = Object.values(NAMES);
    const texts = fc.oneof(
      fc.constantFrom('', '0', '1', '-1', '1e9', '99999999999', 'NaN', '2:3,x'),
      fc.string(),
    );
    const headers = fc.dictionary(fc.constantFrom(...names), texts);
    fc.assert(
      fc.property(fc.array(headers, { maxLength: 6 }), (all) => {
        const letters = lettersOf(all.map((one) => record(one)));
        expect(letters.length).toBeLessThanOrEqual(all.length);
        for (const letter of letters) expect(['open', 'redriven', 'incomplete']).toContain(stateOf(letter));
      }),
    );
  });
});
