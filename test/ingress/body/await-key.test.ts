import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { signingKey } from '../../../src/crypto/keys.ts';
import { SignatureCheck } from '../../../src/crypto/signature.ts';
import { checkWithAwaitedKey } from '../../../src/ingress/body/await-key.ts';

it.each([0, 1, 1024 * 1024, 1024 * 1024 + 1, 3_500_000])(
  'a body of %i bytes whose key is known meanwhile is verified by all of them, once more',
  async (length) => {
    const body = Buffer.from(Array.from({ length }, (_, n) => n % 251));
    const id = 'i'.repeat(36);
    const secret = 's'.repeat(36);
    const header = createHmac('sha256', id + secret)
      .update(body)
      .digest('hex');
    const keys = [signingKey(id, secret, 0)];
    const check = new SignatureCheck(keys);
    const early = { check, body, header } as Parameters<typeof checkWithAwaitedKey>[1];
    const keyring = { signingKeysOf: () => keys };
    const deps = { keyring } as unknown as Parameters<typeof checkWithAwaitedKey>[2];
    const again = await checkWithAwaitedKey('a', early, deps);
    expect(again.finish(header, body)).toBe(keys[0]);
  },
);
