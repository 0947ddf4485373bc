import { parseInstant } from '../core/instant.ts';

/**
 * The value as its Avro type takes it, or undefined where it doesn't fit.
 * @param text the JSON of the value: it shows what `JSON.parse` has rounded
 */
export type Convert = (value: unknown, text: string) => unknown;

/** How a value is written; a timestamp is a long. */
export type ValueType = keyof typeof CONVERSIONS;

/**
 * The longs that avsc writes exactly. It doubles a number to write it, and what is odd beyond 2^53 then loses its last
 * bit, which is the sign: -2^52-1 would be read back as 2^52. A value beyond stands in `source`.
 */
const isExactLong = (value: number) => value >= -(2 ** 52) && value <= 2 ** 53 - 2;

/** The years 1 to 9999: other instants end readers in Python and others, and with them all that is behind the record. */
const FIRST_INSTANT = Date.parse('0001-01-01T00:00:00Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/** For messages that are kept: doubles, floats and parts of a millisecond may be rounded, as the message has them exactly. */
export const CONVERSIONS = {
  // Half a surrogate pair is no text: written as UTF-8 it could not be read back.
  string: (value) => (typeof value === 'string' && value.isWellFormed() ? value : undefined),
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  int: (value, text) =>
    typeof value === 'number' && value === (value | 0) && isIntegerText(text, value) ? value : undefined,
  long: (value, text) =>
    typeof value === 'number' && Number.isInteger(value) && isExactLong(value) && isIntegerText(text, value)
      ? value
      : undefined,
  float: (value) => (typeof value === 'number' && Number.isFinite(Math.fround(value)) ? value : undefined),
  // JSON.parse makes Infinity of 1e400.
  double: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
  'timestamp-millis': (value, text) => {
    const instant = parseInstant(value);
    if (instant === undefined || instant < FIRST_INSTANT || instant > LAST_INSTANT) return undefined;
    return typeof value === 'string' || isIntegerText(text, instant) ? instant : undefined;
  },
} satisfies Record<string, Convert>;

/** For messages that are kept nowhere: what the record would change doesn't fit. */
export const EXACT_CONVERSIONS: Readonly<Record<ValueType, Convert>> = {
  ...CONVERSIONS,
  float: (value, text) => {
    const float = CONVERSIONS.float(value);
    return float !== undefined && isSameDecimal(text, shortestFloat(Math.fround(float))) ? float : undefined;
  },
  double: (value, text) => {
    const double = CONVERSIONS.double(value);
    return double !== undefined && isSameDecimal(text, String(double)) ? double : undefined;
  },
  'timestamp-millis': (value, text) =>
    typeof value === 'string' && BELOW_MILLISECOND.test(value)
      ? undefined
      : CONVERSIONS['timestamp-millis'](value, text),
};

const BELOW_MILLISECOND = /\.\d{3}\d*[1-9]/;

const isIntegerText = (text: string, value: number): boolean =>
  isDigitsOnly(text) || isSameDecimal(text, String(value));

/** Only a fraction or an exponent can be rounded to an integer that is an exact long: 100.00000000000000001. */
function isDigitsOnly(text: string): boolean {
  // By hand, as a regular expression is measurable here: beyond 9 is only an e, and 0x2e is the point.
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign > 0x39 || sign === 0x2e) return false;
  }
  return true;
}

/** The fewest digits that are read back as the float, as `String` has them for a double. */
function shortestFloat(float: number): string {
  // Nine digits are always enough.
  for (let digits = 1; digits < 9; digits++) {
    const text = float.toPrecision(digits);
    if (isFloat(text, float)) return asEven(text, float.toPrecision(digits + 1), float);
    // Below a power of two floats are half as far apart: the nearest decimal can be another float, and the next above not (2^90).
    const above = (2 * float - Number(text)).toPrecision(digits);
    if (isFloat(above, float)) return above;
  }
  return float.toPrecision(9);
}

const isFloat = (text: string, float: number): boolean => Math.fround(Number(text)) === float;

/** Of two that are as near, consumers' languages take the even one (IEEE 754, 5.12.2), and `toPrecision` the larger one. */
function asEven(text: string, oneDigitMore: string, float: number): string {
  const isBetween = /\.\d*5$/.test(oneDigitMore) && Number(oneDigitMore) === float;
  return isBetween && Number(text.at(-1)) % 2 === 1 ? oneDigitMore.slice(0, -1) : text;
}

const isSameDecimal = (a: string, b: string): boolean => a === b || normalize(a) === normalize(b);

/** Its digits without zeros at either end, and the power of ten of the last: -12e1 for -120.0. */
function normalize(text: string): string {
  const power = text.search(/[eE]/);
  const mantissa = text.slice(text.startsWith('-') ? 1 : 0, power < 0 ? undefined : power);
  const point = mantissa.indexOf('.');
  const digits = mantissa.replace('.', '');
  let first = 0;
  while (digits[first] === '0') first++;
  // Not by a regular expression: of a run of zeros within, it would try each as the first of the last ones.
  let end = digits.length;
  while (end > first && digits[end - 1] === '0') end--;
  if (first === end) return '0';
  const fraction = point < 0 ? 0 : digits.length - point;
  const exponent = (power < 0 ? 0 : Number(text.slice(power + 1))) - fraction + digits.length - end;
  return `${text.startsWith('-') ? '-' : ''}${digits.slice(first, end)}e${exponent}`;
}
