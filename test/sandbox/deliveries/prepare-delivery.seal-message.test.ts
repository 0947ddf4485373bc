import { describe, expect, it } from 'vitest';
import { contentTypeOf, readLayout } from '../../../src/sandbox/deliveries/layout.ts';
import { sealMessage } from '../../../src/sandbox/deliveries/prepare-delivery.ts';
import { webCryptoOpen } from '../support/judges.ts';
import { ENCRYPTION_KEY as KEY } from '../support/open-sandbox.ts';

const MESSAGE = '{"type":"payment-status","payload":{"status":"ACCC","name":"Łódź"},"entityId":"e"}';

const seal = (name: string, text = MESSAGE, names = { iv: 'iv', tag: 'tag', data: 'data' }) => {
  const layout = readLayout(name);
  if (!layout) throw new Error(`${name} is no layout`);
  return sealMessage(Buffer.from(text), { key: KEY, layout, names });
};

type Cut = (bytes: Buffer, iv: number) => { iv: Buffer; ciphertext: Buffer; tag: Buffer };
const tagLast: Cut = (bytes, iv) => ({
  iv: bytes.subarray(0, iv),
  ciphertext: bytes.subarray(iv, -16),
  tag: bytes.subarray(-16),
});
const tagFirst: Cut = (bytes, iv) => ({
  iv: bytes.subarray(0, iv),
  tag: bytes.subarray(iv, iv + 16),
  ciphertext: bytes.subarray(iv + 16),
});
const ORDERS: [string, Cut][] = [
  ['ciphertext.tag16', tagLast],
  ['tag16.ciphertext', tagFirst],
];

describe('a sealed message is opened by WebCrypto', () => {
  for (const iv of [12, 16]) {
    for (const [order, cut] of ORDERS) {
      const name = `iv${iv}.${order}`;
      it(`${name} as bytes, base64 and hex, in the body and in the payload`, async () => {
        expect(await webCryptoOpen(cut(await seal(name), iv), KEY)).toBe(MESSAGE);
        for (const text of ['base64', 'hex'] as const) {
          const whole = (await seal(`${name}:${text}`)).toString('latin1');
          expect(whole).toMatch(text === 'hex' ? /^[0-9a-f]+$/ : /^[A-Za-z0-9+/]+=*$/);
          expect(await webCryptoOpen(cut(Buffer.from(whole, text), iv), KEY)).toBe(MESSAGE);
          const outer = JSON.parse((await seal(`payload/${name}:${text}`)).toString('utf8'));
          expect(outer).toMatchObject({ type: 'payment-status', entityId: 'e' });
          const payload = await webCryptoOpen(cut(Buffer.from(outer.payload, text), iv), KEY);
          expect(JSON.parse(payload)).toEqual(JSON.parse(MESSAGE).payload);
        }
      });
    }
  }

  it.each([
    ['json', 12, 'base64'],
    ['json:hex', 12, 'hex'],
    ['json.iv16', 16, 'base64'],
    ['json.iv16:hex', 16, 'hex'],
  ] as const)('%s, under names of one’s choice', async (name, ivBytes, text) => {
    const names = { iv: 'nonce', tag: 'm"ac', data: 'box' };
    const from = (fields: Record<string, string>) => ({
      iv: Buffer.from(fields[names.iv] ?? '', text),
      tag: Buffer.from(fields[names.tag] ?? '', text),
      ciphertext: Buffer.from(fields[names.data] ?? '', text),
    });
    const sealed = from(JSON.parse((await seal(name, MESSAGE, names)).toString()));
    expect([sealed.iv.length, sealed.tag.length]).toEqual([ivBytes, 16]);
    expect(await webCryptoOpen(sealed, KEY)).toBe(MESSAGE);
    const outer = JSON.parse((await seal(`payload/${name}`, MESSAGE, names)).toString());
    expect(JSON.parse(await webCryptoOpen(from(outer.payload), KEY))).toEqual(JSON.parse(MESSAGE).payload);
  });

  it('in many pieces, with a fresh IV each time', async () => {
    const long = JSON.stringify({ payload: 'x'.repeat(3 * (1 << 20)) });
    const one = await seal('iv12.ciphertext.tag16', long);
    const two = await seal('iv12.ciphertext.tag16', long);
    expect(await webCryptoOpen(tagLast(one, 12), KEY)).toBe(long);
    expect(one.subarray(0, 12).equals(two.subarray(0, 12))).toBe(false);
  });
});

describe('a layout', () => {
  it.each(['', 'iv8.ciphertext.tag16', 'iv12.ciphertext', 'json.iv8', 'json:utf8', 'body/json'])(
    'is not called %j',
    (name) => expect(readLayout(name)).toBeNull(),
  );

  it('inside the payload needs a message that has one', async () => {
    await expect(seal('payload/json', '{"type":"x"}')).rejects.toThrow('needs a message with a payload');
    await expect(seal('payload/json', 'plain text')).rejects.toThrow('not JSON');
  });

  it('is JSON or a binary stream by its Content-Type', () => {
    const typeOf = (name: string) => contentTypeOf(readLayout(name));
    expect(contentTypeOf(null)).toBe('application/json');
    expect(['json', 'payload/json', 'payload/iv12.ciphertext.tag16'].map(typeOf)).toEqual(
      Array(3).fill('application/json'),
    );
    expect(['iv12.ciphertext.tag16', 'iv16.tag16.ciphertext:hex'].map(typeOf)).toEqual(
      Array(2).fill('application/octet-stream'),
    );
  });
});
