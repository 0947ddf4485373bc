import { describe, expect, it } from 'vitest';
import { readTraceparent, writeTraceparent } from '../../src/runtime/tracing.ts';

/** The example of W3C Trace Context, section 3.2. */
const EXAMPLE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('a traceparent', () => {
  it('is read and written', () => {
    const context = readTraceparent(EXAMPLE);
    expect(context).toEqual({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      flags: 1,
    });
    expect(context && writeTraceparent(context)).toBe(EXAMPLE);
  });

  it.each([
    ['nothing', undefined],
    ['no hex', EXAMPLE.replace('4bf9', '4BF9')],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['a span id of zeros', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
    ['version ff', EXAMPLE.replace(/^00/, 'ff')],
    ['two headers joined', `${EXAMPLE}, ${EXAMPLE}`],
  ])('is none: %s', (_, text) => {
    expect(readTraceparent(text)).toBeNull();
  });
});
