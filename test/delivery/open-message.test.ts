import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/core/errors.ts';
import { openMessage } from '../../src/delivery/open-message.ts';
import { deliveryParts, verified } from '../support/delivery-parts.ts';
import { fromBase64, readVectors, type SealedVectors } from '../support/vectors.ts';

const vectors = readVectors<SealedVectors>('sealed.json');
const plainText = '{"type":"payment-status"}';

describe('the message of a delivery', () => {
  it.each(vectors.cases)(
    'sealed by another tool opens in the layout $layout',
    ({ layout, body, message }) => {
      const parts = deliveryParts({ layout });
      const mediaType = /json|payload/.test(layout) ? 'json' : 'octet-stream';
      const opened = openMessage(verified(fromBase64(body), mediaType), parts);
      expect(opened.message.toString()).toBe(fromBase64(message ?? vectors.message).toString());
      expect(parts.seen.matched).toEqual(['ledger-eu encryption 0']);
    },
  );

  it.each(vectors.cases.map(({ layout }) => [layout]))(
    'that is plain JSON stays as it is in the layout %s',
    (layout) => {
      for (const mediaType of ['json', 'octet-stream'] as const) {
        const delivery = verified(` ${plainText}\n`, mediaType);
        expect(openMessage(delivery, deliveryParts({ layout })).message).toBe(delivery.body);
      }
    },
  );

  it('that is sent as JSON is never opened where the layout is no JSON one, whatever it looks like', () => {
    const delivery = verified(fromBase64(vectors.cases[0]?.body ?? ''), 'json');
    expect(openMessage(delivery, deliveryParts()).message).toBe(delivery.body);
  });

  it('that is sealed and happens to begin with a brace is opened', () => {
    const sealed = fromBase64(vectors.cases[0]?.body ?? '');
    const braced = Buffer.concat([Buffer.from('{'), sealed]);
    expect(() => openMessage(verified(braced, 'octet-stream'), deliveryParts())).toThrow('no encryption key');
  });

  it.each([
    ['iv12.ciphertext.tag16', 'octet-stream', 'garbage that nobody sealed, longer than a tag'],
    ['iv12.ciphertext.tag16', 'octet-stream', ''],
    ['json', 'json', '{"iv":"AAAA","tag":"AAAA","data":"AAAA"}'],
    ['json', 'json', '{"iv":1,"tag":2,"data":3}'],
    ['payload/json', 'json', '{"payload":{"iv":"AAAA","tag":"AAAA","data":"AAAA"}}'],
    ['payload/iv12.ciphertext.tag16', 'json', '{"payload":"AAAA"}'],
  ] as const)('that can not be opened is UNDECRYPTABLE (%s, %s, %s)', (layout, mediaType, body) => {
    expect(() => openMessage(verified(body, mediaType), deliveryParts({ layout }))).toThrow(
      'no encryption key',
    );
  });

  it('of any bytes in any layout is opened, left as it is, or UNDECRYPTABLE', () => {
    const layouts = vectors.cases.map(({ layout }) => layout);
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(
        bytes,
        fc.constantFrom(...layouts),
        fc.constantFrom('json' as const, 'octet-stream' as const),
        (body, layout, mediaType) => {
          const delivery = verified(Buffer.from(body), mediaType);
          try {
            return openMessage(delivery, deliveryParts({ layout })).message === delivery.body;
          } catch (error) {
            return hasCode(error, 'UNDECRYPTABLE');
          }
        },
      ),
    );
  });
});
