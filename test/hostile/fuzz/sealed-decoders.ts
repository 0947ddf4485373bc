import { createCipheriv, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { encryptionKey, signingKey } from '../../../src/crypto/keys.ts';
import { parseLayout } from '../../../src/crypto/layout.ts';
import { decodeSealed, openSealed, readEnvelope, splitSealed } from '../../../src/crypto/sealed-body.ts';
import { parseSealingKeys, seal, unseal } from '../../../src/crypto/sealing.ts';
import { SignatureCheck } from '../../../src/crypto/signature.ts';
import { changed, changes, fuzzed, must } from './fuzzed.ts';

const KEY = 'k'.repeat(32);
const key = encryptionKey(KEY, 0);
const ORDERS = [
  'iv12.ciphertext.tag16',
  'iv12.tag16.ciphertext',
  'iv16.ciphertext.tag16',
  'iv16.tag16.ciphertext',
];
const FORMS = ['', ':base64', ':hex'];
const layouts = fc.constantFrom(
  ...ORDERS.flatMap((order) => FORMS.map((form) => order + form)),
  'json',
  'json:hex',
  'json:iv=i,tag=t,data=d',
);

/** Sealed by Node's own cipher, laid out by the words of the layout: `src` has no part in it. */
function sealedAs(text: string, plain: Buffer, iv: Buffer): Buffer {
  const length = text.startsWith('iv16') ? 16 : 12;
  const nonce = iv.subarray(0, length);
  const cipher = createCipheriv('aes-256-gcm', KEY, nonce, { authTagLength: 16 });
  const data = Buffer.concat([cipher.update(plain), cipher.final()]);
  const tag = cipher.getAuthTag();
  if (text.startsWith('json')) {
    const written = text.includes('hex') ? 'hex' : 'base64';
    const [i, t, d] = text.includes('=') ? ['i', 't', 'd'] : ['iv', 'tag', 'data'];
    return Buffer.from(
      JSON.stringify({
        [i as string]: nonce.toString(written),
        [t as string]: tag.toString(written),
        [d as string]: data.toString(written),
      }),
    );
  }
  const bytes = Buffer.concat(text.includes('tag16.c') ? [nonce, tag, data] : [nonce, data, tag]);
  const form = text.split(':')[1];
  return form === undefined ? bytes : Buffer.from(bytes.toString(form as 'hex'));
}

function opened(text: string, body: Buffer): Buffer | null {
  const layout = parseLayout(text);
  must(layout, `${text} is a layout`);
  let pieces = null;
  if (layout.form === 'envelope') {
    try {
      pieces = readEnvelope(layout, JSON.parse(body.toString()) ?? {});
    } catch (error) {
      must(error instanceof SyntaxError, `${error}`);
    }
  } else pieces = splitSealed(layout, decodeSealed(layout.form, body));
  return (pieces && openSealed(pieces, [key])?.plain) ?? null;
}

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const iv = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((array) => Buffer.from(array));
const sealingKeys = parseSealingKeys(Buffer.from('a'.repeat(64)));

export const sealedDecoders = [
  fuzzed(
    'sealed layouts',
    3,
    fc.record({ layout: layouts, plain: bytes(80), iv, changes }),
    ({ layout, plain, iv: nonce, changes: by }) => {
      const whole = sealedAs(layout, plain, nonce);
      must(opened(layout, whole)?.equals(plain), 'does not open what was sealed');
      const input = changed(whole, by);
      if (!input) return;
      // Text forms may be written in more than one way; raw bytes may not be changed at all.
      const found = opened(layout, input);
      must(
        found === null || (layout.includes(':') || layout.startsWith('json') ? found.equals(plain) : false),
        'opens what was changed',
      );
    },
  ),
  fuzzed(
    'any bytes as a sealed body',
    1,
    fc.record({ layout: layouts, body: bytes(120) }),
    ({ layout, body }) => {
      must(opened(layout, body) === null, 'opens what nobody sealed');
    },
  ),
  fuzzed(
    'the names of layouts',
    1,
    fc.oneof(
      fc.string(),
      fc
        .array(
          fc.constantFrom('payload/', 'iv12', '.tag16', '.ciphertext', 'json', ':', 'hex', 'iv=', '=', ','),
          { maxLength: 8 },
        )
        .map((all) => all.join('')),
    ),
    (text) => {
      const layout = parseLayout(text);
      if (layout)
        must(
          [12, 16].includes(layout.ivLength) && Object.values(layout.names).every((name) => name !== ''),
          'half a layout',
        );
    },
  ),
  fuzzed(
    'sealed keys',
    2,
    fc.record({ plain: bytes(60), aad: bytes(20), format: fc.nat({ max: 255 }), other: bytes(20), changes }),
    ({ plain, aad, format, other, changes: by }) => {
      must(sealingKeys, 'keys');
      const sealed = seal(sealingKeys, { format, aad }, plain);
      must(unseal(sealingKeys, { format, aad }, sealed)?.equals(plain), 'does not open what was sealed');
      const input = changed(sealed, by);
      if (input) must(unseal(sealingKeys, { format, aad }, input) === null, 'opens what was changed');
      if (!other.equals(aad))
        must(unseal(sealingKeys, { format, aad: other }, sealed) === null, 'opens what was moved');
    },
  ),
  fuzzed('sealing key files', 1, bytes(140), (content) => {
    const keys = parseSealingKeys(content);
    if (keys)
      must(
        keys.all.every((one) => one.symmetricKeySize === 32),
        'a key that is none',
      );
  }),
  fuzzed(
    'signatures',
    2,
    fc.record({
      body: bytes(100),
      header: fc.oneof(
        fc.string(),
        fc.constant(undefined),
        fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: 60, maxLength: 68 }),
      ),
      changes,
    }),
    ({ body, header, changes: by }) => {
      const keys = [signingKey('s'.repeat(36), 'x'.repeat(36), 0)];
      const check = (signature: string | undefined) => {
        const one = new SignatureCheck(keys);
        one.update(body);
        return one.finish(signature, body);
      };
      const right = createHmac('sha256', 's'.repeat(36) + 'x'.repeat(36))
        .update(body)
        .digest('hex');
      must(check(right) === keys[0], 'does not take its own signature');
      if (header !== right) must(check(header) === null, 'takes a wrong signature');
      const wrong = changed(Buffer.from(right), by)?.toString('latin1');
      if (wrong !== undefined) must(check(wrong) === null, 'takes a changed signature');
    },
  ),
];
