import { describe, expect, it } from 'vitest';
import { parseSealingKeys } from '../../../src/crypto/sealing.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import { openBody, sealBody } from '../../../src/delivery/dead-letter/seal-body.ts';
import { verified } from '../../support/delivery-parts.ts';

const keysOf = (text: string) => parseSealingKeys(Buffer.from(text)) ?? expect.fail('no keys');
const [first, second] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;

const delivery = verified('{"iban":"DE02120300000000202051"}');
const headers = {
  [NAMES.sealed]: 'true',
  [NAMES.eventId]: 'e-1',
  [NAMES.ref]: delivery.ref,
  [NAMES.subscriptionId]: delivery.subscriptionId,
  [NAMES.receivedAt]: String(delivery.receivedAt),
};
const sealed = sealBody(keysOf(first), 'e-1', delivery);

describe('a sealed body', () => {
  it('shows nothing of what is in it, and opens exact to the byte', () => {
    expect(sealed.includes('iban')).toBe(false);
    expect(openBody(keysOf(first), headers, sealed)).toEqual(delivery.body);
  });

  it('opens with an earlier key too', () => {
    expect(openBody(keysOf(`${second}\n${first}`), headers, sealed)).toEqual(delivery.body);
  });

  it.each([
    ['without a key', undefined, headers, sealed],
    ['with another key', keysOf(second), headers, sealed],
    [
      'changed',
      keysOf(first),
      headers,
      Buffer.concat([sealed.subarray(0, -1), Buffer.from([sealed.at(-1)! ^ 1])]),
    ],
    ['cut off', keysOf(first), headers, sealed.subarray(0, 20)],
    ['empty', keysOf(first), headers, Buffer.alloc(0)],
    ['under another event id', keysOf(first), { ...headers, [NAMES.eventId]: 'e-2' }, sealed],
    ['under another ref', keysOf(first), { ...headers, [NAMES.ref]: 'other' }, sealed],
    ['under another time', keysOf(first), { ...headers, [NAMES.receivedAt]: '1' }, sealed],
  ])('does not open %s', (_, keys, under, body) => {
    expect(() => openBody(keys, under, body)).toThrow(expect.objectContaining({ code: 'BODY_SEALED' }));
  });
});

it('a body that is not sealed is what it is', () => {
  const { [NAMES.sealed]: _, ...plain } = headers;
  expect(openBody(undefined, plain, delivery.body)).toBe(delivery.body);
});
