import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encryptionKey } from '../../src/crypto/keys.ts';
import { parseLayout } from '../../src/crypto/layout.ts';
import {
  decodeSealed,
  isEnvelope,
  openSealed,
  readEnvelope,
  splitSealed,
} from '../../src/crypto/sealed-body.ts';
import { fromBase64, readVectors, type SealedVectors } from '../support/vectors.ts';

const vectors = readVectors<SealedVectors>('sealed.json');
const key = encryptionKey(vectors.encryptionKey, 0);
const message = fromBase64(vectors.message);
const layoutOf = (text: string) => parseLayout(text) ?? expect.fail(`${text} is no layout`);
const wholeBodies = vectors.cases.filter(({ layout }) => !/^(payload|json)/.test(layout));
const first = wholeBodies[0] ?? expect.fail('no vectors');

function piecesOf(text: string, body: Buffer) {
  const layout = layoutOf(text);
  return layout.form === 'envelope'
    ? readEnvelope(layout, JSON.parse(body.toString()))
    : splitSealed(layout, decodeSealed(layout.form, body));
}

describe('a sealed body', () => {
  it.each(vectors.cases.filter(({ layout }) => !layout.startsWith('payload')))(
    'sealed by another tool opens in the layout $layout',
    ({ layout, body }) => {
      const pieces = piecesOf(layout, fromBase64(body)) ?? expect.fail('no pieces');
      expect(openSealed(pieces, [key])?.plain).toEqual(message);
    },
  );

  it('opens with an older key that is still live, and says which', () => {
    const newer = encryptionKey('x'.repeat(32), 0);
    const older = encryptionKey(vectors.encryptionKey, 1);
    const pieces = piecesOf(first.layout, fromBase64(first.body)) ?? expect.fail('no pieces');
    expect(openSealed(pieces, [newer, older])?.key.index).toBe(1);
  });

  it('does not open with another key, with none, or when any one byte is another', () => {
    const body = fromBase64(first.body);
    const pieces = piecesOf(first.layout, body) ?? expect.fail('no pieces');
    expect(openSealed(pieces, [encryptionKey('y'.repeat(32), 0)])).toBeNull();
    expect(openSealed(pieces, [])).toBeNull();
    for (let at = 0; at < body.length; at += 7) {
      const changed = Buffer.from(body);
      changed[at] = (changed[at] ?? 0) ^ 0x80;
      const changedPieces = piecesOf(first.layout, changed) ?? expect.fail('no pieces');
      expect(openSealed(changedPieces, [key]), `byte ${at}`).toBeNull();
    }
  });

  it('does not open with a shortened tag, which Node by itself would take', () => {
    const pieces = piecesOf(first.layout, fromBase64(first.body)) ?? expect.fail('no pieces');
    expect(openSealed({ ...pieces, tag: pieces.tag.subarray(0, 4) }, [key])).toBeNull();
  });

  it('has no pieces when it is too short for an iv and a tag', () => {
    expect(splitSealed(layoutOf('iv12.ciphertext.tag16'), Buffer.alloc(27))).toBeNull();
    expect(splitSealed(layoutOf('iv12.ciphertext.tag16'), Buffer.alloc(28))).not.toBeNull();
    expect(splitSealed(layoutOf('iv16.tag16.ciphertext'), Buffer.alloc(31))).toBeNull();
  });

  it('as text may have white space around it', () => {
    for (const form of ['hex', 'base64'] as const)
      expect(decodeSealed(form, Buffer.from(`\r\n ${message.toString(form)}\n`))).toEqual(message);
  });

  it('of any bytes never throws and never opens, in any layout', () => {
    const layouts = vectors.cases
      .map(({ layout }) => layoutOf(layout))
      .filter(({ form }) => form !== 'envelope');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...layouts), (bytes, layout) => {
        const pieces = splitSealed(layout, decodeSealed(layout.form as 'bytes', Buffer.from(bytes)));
        return pieces === null || openSealed(pieces, [key]) === null;
      }),
    );
  });

  it('as an envelope is told by its three names, and of any JSON never throws', () => {
    const layout = layoutOf('json');
    expect(isEnvelope(layout, { iv: 1, tag: 2, data: 3 })).toBe(true);
    expect(isEnvelope(layout, { iv: 1, tag: 2 })).toBe(false);
    const whole = { iv: 'AA==', tag: 'AA==', data: 'AA==' };
    expect(readEnvelope(layout, whole)).not.toBeNull();
    for (const name of Object.keys(whole))
      for (const value of [5, null, undefined])
        expect(readEnvelope(layout, { ...whole, [name]: value }), `${name} ${value}`).toBeNull();
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('iv', 'tag', 'data', 'x'), fc.jsonValue()), (object) => {
        const pieces = readEnvelope(layout, object as Record<string, unknown>);
        return pieces === null || openSealed(pieces, [key]) === null;
      }),
    );
  });
});
