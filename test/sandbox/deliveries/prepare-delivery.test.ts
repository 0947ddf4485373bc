import { describe, expect, it } from 'vitest';
import { signBody } from '../../../src/sandbox/deliveries/prepare-delivery.ts';
import { opensslHmac } from '../support/judges.ts';

const subscription = {
  id: '7f3c1c1e-52b1-4a54-9c3a-0d6b1f0c9e11',
  signingSecret: 's3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-3',
};
const key = subscription.id + subscription.signingSecret;

describe('signBody', () => {
  it.each([
    ['an empty body', Buffer.alloc(0)],
    ['a JSON body', Buffer.from('{"type":"payment-status","name":"Łódź"}')],
    ['bytes that are no text', Buffer.from([0, 255, 128, 10, 13])],
    ['a body of several pieces', Buffer.alloc(3 * (1 << 20) + 17, 'piece')],
  ])('agrees with openssl on %s', async (_name, body) => {
    const signature = await signBody(body, subscription);
    expect(signature).toMatch(/^[0-9a-f]{64}$/);
    expect(signature).toBe(opensslHmac(key, body));
  });
});
