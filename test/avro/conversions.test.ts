import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEventSchema, type SourcePolicy } from '../../src/avro/event-schema.ts';
import { field, schemaText } from '../support/event-schemas.ts';
import { listDrift } from '../support/map-objects.ts';

const TIMESTAMP = { type: 'long', logicalType: 'timestamp-millis' };

/** What `"a":<text>` becomes, as a consumer reads it: first as a field, then as an element of an array. */
function read(type: unknown, text: string, source: SourcePolicy) {
  const list = field('list', { type: 'array', items: ['null', type] });
  const { transcoder, codec } = readEventSchema({
    name: 'x.avsc',
    text: schemaText([field('a', type), list], { source }),
  });
  const drift: string[] = [];
  const found = transcoder.find(Buffer.from(`{"payload":{"a":${text},"list":[${text}]}}`));
  const value = found.write({ eventId: 'e', subscription: 's', receivedAt: 1 }, 1, listDrift(drift));
  const record = codec.decode(value.subarray(5));
  return { a: record.a, list: record.list, drift };
}

const held = (value: unknown) => ({ a: value, list: [value], drift: [] });
const DRIFT = { a: null, list: [null], drift: ['a', 'list[]'] };

describe.each<SourcePolicy>(['keep', 'reference', 'omit'])('a number of a message with "%s"', (source) => {
  it.each([
    ['double', '1e400'],
    ['double', '-1e400'],
    ['float', '3.5e38'],
    ['int', '2147483646.9999999999'],
    ['int', '100.00000000000000001'],
    ['int', '1e-400'],
    ['int', '-0.1e-400000000000000000000000000001'],
    ['long', '4503599627370497.5'],
    ['long', '9007199254740989.99999'],
    ['long', '0.99999999999999999'],
    [TIMESTAMP, '1795168800000.00000001'],
    [TIMESTAMP, '1e-400'],
    [TIMESTAMP, '"9999-12-31T23:59:59-01:00"'],
    [TIMESTAMP, '"0000-12-31T23:59:59Z"'],
    [TIMESTAMP, '253402300800000'],
    [TIMESTAMP, '-62135596800001'],
  ])('is drift where it does not fit: %j from %s', (type, text) => {
    expect(read(type, text, source)).toEqual(DRIFT);
  });

  it.each([
    ['int', '1.0', 1],
    ['int', '1e3', 1000],
    ['int', '-12.50E+1', -125],
    ['int', '120000e-4', 12],
    ['int', '-0.0', 0],
    ['int', '0e999999999999999999999', 0],
    ['long', '9007199254740990', 9007199254740990],
    ['long', '9007199254740990.000', 9007199254740990],
    ['long', '-4503599627370496', -4503599627370496],
    [TIMESTAMP, '1.7951688e12', 1795168800000],
    [TIMESTAMP, '253402300799999', 253402300799999],
    [TIMESTAMP, '"0001-01-01T00:00:00Z"', -62135596800000],
    ['double', '0.1', 0.1],
    ['float', '0.1', Math.fround(0.1)],
  ])(
    'is held where it is an integer or a short decimal, however it is written: %j from %s',
    (type, text, value) => {
      expect(read(type, text, source)).toEqual(held(value));
    },
  );
});

describe('a value that its field rounds', () => {
  const rounded: [type: unknown, text: string, value: number][] = [
    ['double', '12345678901234567.89', 12345678901234568],
    ['double', '9007199254740993', 9007199254740992],
    ['double', '1e-400', 0],
    ['double', '0.1000000000000000055511151231257827', 0.1],
    ['float', '16777217', 16777216],
    ['float', '0.100000001', Math.fround(0.1)],
    ['float', '1e-60', 0],
    // Java, Go and NumPy print the float -2442472.25 as -2442472.2.
    ['float', '-2442472.3', -2442472.25],
    ['float', '3000000.3', 3000000.25],
    // They print the float 2^90 as 1.2379401e27, though 1.23794004e27 is nearer.
    ['float', '1.23794004e27', 2 ** 90],
    [TIMESTAMP, '"2026-01-01T10:00:00.999999Z"', Date.UTC(2026, 0, 1, 10, 0, 0, 999)],
    [TIMESTAMP, '"2026-01-01T10:00:00.0000000001+0200"', Date.UTC(2026, 0, 1, 8)],
  ];

  it.each(rounded)('is held where the message is kept: %j from %s', (type, text, value) => {
    for (const source of ['keep', 'reference'] as const)
      expect(read(type, text, source)).toEqual(held(value));
  });

  it.each(rounded)('is drift where the message is kept nowhere: %j from %s', (type, text) => {
    expect(read(type, text, 'omit')).toEqual(DRIFT);
  });
});

describe('a message that is kept nowhere', () => {
  it.each([
    ['double', '1.50', 1.5],
    ['double', '-0.1e1', -1],
    ['double', '123456789012345.6', 123456789012345.6],
    ['double', '1e23', 1e23],
    ['double', '100000000000000000000000', 1e23],
    ['double', '5e-324', 5e-324],
    ['double', '0.000', 0],
    ['float', '100000.01', Math.fround(100000.01)],
    ['float', '-2442472.2', -2442472.25],
    ['float', '2097152.8', 2097152.75],
    ['float', '1.2621775e-29', 2 ** -96],
    ['float', '-1.5474251e26', -(2 ** 87)],
    ['float', '1.2379401e27', 2 ** 90],
    ['float', '200000', 200000],
    ['float', '1.5e15', Math.fround(1.5e15)],
    ['float', '16777216', 16777216],
    ['float', '-3.4028235e38', Math.fround(-3.4028235e38)],
    ['float', '1e-45', Math.fround(1e-45)],
    ['float', '0', 0],
    [TIMESTAMP, '"2026-01-01T10:00:00.999000Z"', Date.UTC(2026, 0, 1, 10, 0, 0, 999)],
    [TIMESTAMP, '"2026-01-01T12:00:00.5+02:00"', Date.UTC(2026, 0, 1, 10, 0, 0, 500)],
    [TIMESTAMP, '"2026-01-01T24:00Z"', Date.UTC(2026, 0, 2)],
  ])('has what survives the way back: %j from %s', (type, text, value) => {
    expect(read(type, text, 'omit')).toEqual(held(value));
  });

  it('has every double as JSON prints it, and every decimal of up to 15 digits', () => {
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value));
    const decimals = fc
      .tuple(
        fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
        fc.integer({ min: -280, max: 280 }),
      )
      .map(([digits, power]) => `${digits}e${power}`);
    fc.assert(
      fc.property(fc.oneof(doubles, decimals), (text) => {
        expect(read('double', text, 'omit')).toEqual(held(Number(text)));
      }),
    );
  });

  it('has every float as its shortest decimal of up to 6 digits', () => {
    const decimals = fc
      .tuple(fc.integer({ min: -999_999, max: 999_999 }), fc.integer({ min: -30, max: 30 }))
      .map(([digits, power]) => `${digits}e${power}`);
    fc.assert(
      fc.property(decimals, (text) => {
        expect(read('float', text, 'omit')).toEqual(held(Math.fround(Number(text))));
      }),
    );
  });

  it('has nothing of a decimal between two doubles', () => {
    const integers = fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }).map((value) => `${2n * value + 1n}`);
    fc.assert(
      fc.property(integers, (text) => {
        expect(read('double', `${text}.5`, 'omit')).toEqual(DRIFT);
      }),
    );
  });

  it('is read in time that grows with its length alone', { timeout: 20_000 }, () => {
    // With the square of it, a minute.
    const digits = '0'.repeat(200_000);
    for (const text of [`0.${digits}1`, `1${digits}1e-200001`, `1.${digits}`])
      expect(read('double', text, 'omit').drift.length).toBe(text.endsWith('0') ? 0 : 2);
  });
});
