import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decoyKey, signingKey } from '../../src/crypto/keys.ts';
import { SignatureCheck } from '../../src/crypto/signature.ts';
import { fromBase64, readVectors, type SignatureVectors } from '../support/vectors.ts';

const vectors = readVectors<SignatureVectors>('signatures.json');
const key = signingKey(vectors.subscriptionId, vectors.signingSecret, 0);
const [first] = vectors.bodies;

/** Each character 256 further: as one byte each they are the same. */
const raised = (text: string) =>
  text.replace(/./g, (digit) => String.fromCharCode(digit.charCodeAt(0) + 256));

/** As a body is checked that is there whole, and as one is that arrives in chunks: both must agree. */
function check(
  keys: ConstructorParameters<typeof SignatureCheck>[0],
  body: Buffer,
  header: string | undefined,
) {
  const arrived = new SignatureCheck(keys, keys);
  arrived.update(body);
  const key = arrived.finish(header, body);
  expect(new SignatureCheck(keys).finish(header, body)).toBe(key);
  return key;
}

describe('a signature', () => {
  it.each(vectors.bodies)(
    'made by openssl over $base64.length characters matches',
    ({ base64, signature }) => {
      expect(check([key], fromBase64(base64), signature)).toBe(key);
    },
  );

  it('is the same however the body is cut', () => {
    const body = fromBase64(vectors.bodies[3]?.base64 ?? '');
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: body.length })), (cuts) => {
        const signature = new SignatureCheck([key], [key]);
        const edges = [0, ...cuts.sort((a, b) => a - b), body.length];
        for (const [n, edge] of edges.entries()) signature.update(body.subarray(edge, edges[n + 1] ?? edge));
        return signature.finish(vectors.bodies[3]?.signature, body) === key;
      }),
    );
  });

  it.each([0, 1, 63, 64, 65, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1])(
    'over %i bytes is the same whether they arrive whole or in chunks',
    (length) => {
      const body = Buffer.alloc(length, 'a');
      const expected = createHmac('sha256', vectors.subscriptionId + vectors.signingSecret).update(body);
      expect(check([key], body, expected.digest('hex'))).toBe(key);
    },
  );

  it('matches by an older key that is still live, and says which', () => {
    const newer = signingKey(vectors.subscriptionId, 'another-secret-of-thirty-six-letters', 0);
    const older = signingKey(vectors.subscriptionId, vectors.signingSecret, 1);
    expect(check([newer, older], Buffer.alloc(0), first?.signature)?.index).toBe(1);
  });

  it('does not match when one bit of the body or of the header is another', () => {
    const body = fromBase64(vectors.bodies[2]?.base64 ?? '');
    const signature = vectors.bodies[2]?.signature ?? '';
    const changed = Buffer.from(body);
    changed[5] = (changed[5] ?? 0) ^ 1;
    expect(check([key], changed, signature)).toBeNull();
    expect(
      check(
        [key],
        body,
        signature.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      ),
    ).toBeNull();
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['in capitals', first?.signature.toUpperCase()],
    ['too short', first?.signature.slice(1)],
    ['too long', `${first?.signature}0`],
    ['sent twice', `${first?.signature}, ${first?.signature}`],
    ['with a prefix', `sha256=${first?.signature}`],
    ['no hexadecimal number', 'z'.repeat(64)],
    ['of characters whose low bytes are right', first && raised(first.signature)],
  ])('does not match when the header is %s', (_, header) => {
    expect(check([key], Buffer.alloc(0), header)).toBeNull();
  });

  it('of any header text never throws, and matches nothing but itself', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{64}$/)),
        fc.uint8Array(),
        (header, bytes) => {
          return check([key], Buffer.from(bytes), header) === null;
        },
      ),
    );
  });

  it('never matches by a decoy, even one made with its key', () => {
    const decoy = { ...key, index: -1 };
    expect(check([decoy, decoyKey()], Buffer.alloc(0), first?.signature)).toBeNull();
  });

  it('of a large body is computed with every live key as it arrives', () => {
    const other = signingKey(key.subscriptionId, 'x'.repeat(36), 0);
    const check = SignatureCheck.withEach([other, { ...key, index: 1 }, decoyKey()]);
    check.update(fromBase64(first?.base64 ?? ''));
    // The body isn't needed any more.
    expect(check.finish(first?.signature, Buffer.alloc(0))?.index).toBe(1);
    expect(SignatureCheck.withEach([decoyKey()]).finish(first?.signature, Buffer.alloc(0))).toBeNull();
  });

  it('can pass where it is well-formed and a key is live', () => {
    expect(SignatureCheck.canPass([key], first?.signature)).toBe(true);
    expect(SignatureCheck.canPass([decoyKey()], first?.signature)).toBe(false);
    expect(SignatureCheck.canPass([key], undefined)).toBe(false);
    expect(SignatureCheck.canPass([key], 'nonsense')).toBe(false);
  });

  it('needs a key', () => {
    expect(() => new SignatureCheck([])).toThrow('at least one key');
  });
});
