import fc from 'fast-check';

const space = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n');
const text = fc.oneof(
  fc.constantFrom('"a"', '"status"', '"\\u0061"', '"\\ud800"', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"é😀"', '""'),
  fc.string({ unit: 'grapheme' }).map((value) => JSON.stringify(value)),
);
const scalar = fc.oneof(
  text,
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1e400',
    '-1.5E+3',
    '9007199254740993',
    '1795168800000',
  ),
  fc.constantFrom('"2026-11-20T10:00:00Z"', '"2026-02-30T10:00:00Z"', '-4503599627370497', '2147483648'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

/** Texts of JSON whose members are mostly of these names, some of them twice, spaced in all ways. */
export function jsonText(names: readonly string[]): fc.Arbitrary<string> {
  const spaced = (value: fc.Arbitrary<string>) =>
    fc.tuple(space, value, space).map(([before, one, after]) => before + one + after);
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...names).map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: fc.constantFrom(...names).map(escaped) },
    { weight: 1, arbitrary: text },
  );
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 7, depthSize: 'large' },
      scalar,
      fc
        .array(fc.tuple(spaced(name), spaced(tie('value'))), { maxLength: 6 })
        .map((members) => `{${members.map(([key, one]) => `${key}:${one}`).join(',') || ' '}}`),
      fc.array(spaced(tie('value')), { maxLength: 4 }).map((elements) => `[${elements.join(',')}]`),
    ),
  }));
  return spaced(value);
}

/** The same name, its first character as an escape. */
function escaped(name: string): string {
  if (name === '') return '""';
  const code = name.charCodeAt(0).toString(16).padStart(4, '0');
  return `"\\u${code}${JSON.stringify(name.slice(1)).slice(1)}`;
}
