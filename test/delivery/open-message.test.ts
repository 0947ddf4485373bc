import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { LARGE_BODY_BYTES } from '../../src/core/delivery.ts';
import { hasCode } from '../../src/core/errors.ts';
import { openMessage as open } from '../../src/delivery/open-message.ts';
import { identifyDelivery } from '../../src/delivery/publish-delivery.ts';
import { readEvent } from '../../src/delivery/read-event.ts';
import { deliveryParts, verified } from '../support/delivery-parts.ts';
import { fromBase64, readVectors, type SealedVectors } from '../support/vectors.ts';

const vectors = readVectors<SealedVectors>('sealed.json');
type Parts = ReturnType<typeof deliveryParts>;
/** As a delivery is opened on its way. */
const openMessage = (delivery: ReturnType<typeof verified>, parts: Parts) =>
  open(delivery, parts, (opened) => readEvent(opened, parts));
const MEDIA_TYPES = ['json', 'octet-stream'] as const;
const plainText = '{"type":"payment-status"}';

describe('the message of a delivery', () => {
  it.each(vectors.cases.flatMap((one) => MEDIA_TYPES.map((mediaType) => ({ ...one, mediaType }))))(
    'sealed by another tool opens in the layout $layout, sent as $mediaType',
    ({ layout, body, message, mediaType }) => {
      const parts = deliveryParts({ layout });
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

  it.each(vectors.lookalikes)('that is sealed and begins like JSON is opened (%s)', (body) => {
    for (const mediaType of MEDIA_TYPES) {
      const parts = deliveryParts();
      const opened = openMessage(verified(fromBase64(body), mediaType), parts);
      expect(opened.message.toString('base64')).toBe(vectors.message);
      expect(parts.seen.matched).toEqual(['ledger-eu encryption 0']);
    }
  });

  it.each([
    ['{"type":', 'UNPARSABLE', 'UNPARSABLE'],
    [' \n[1,2]', 'UNPARSABLE', 'UNPARSABLE'],
    ['{ and more than an iv and a tag would be', 'UNPARSABLE', 'UNPARSABLE'],
    ['"text"', 'UNDECRYPTABLE', 'UNPARSABLE'],
    ['garbage that nobody sealed, longer than a tag', 'UNDECRYPTABLE', 'UNPARSABLE'],
    ['', 'UNDECRYPTABLE', 'UNPARSABLE'],
  ])('%s is %s where no key opens it, %s where there is none', (body, withKey, withoutKey) => {
    const codeOf = (parts: Parts, mediaType: (typeof MEDIA_TYPES)[number]) => {
      try {
        return openMessage(verified(body, mediaType), parts).eventId;
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    for (const mediaType of MEDIA_TYPES) {
      expect(codeOf(deliveryParts(), mediaType)).toBe(withKey);
      expect(codeOf({ ...deliveryParts(), encryptionKeysOf: () => [] }, mediaType)).toBe(withoutKey);
    }
  });

  it('of a plain body is scanned once', () => {
    const parts = deliveryParts();
    let reads = 0;
    const delivery = verified(plainText, 'octet-stream');
    open(delivery, parts, () => reads++);
    expect(reads).toBe(1);
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

  it.each(['payload/iv12.ciphertext.tag16:base64', 'payload/json'])(
    'of other bytes than UTF-8 around what is sealed, or in it, is never rewritten (%s)',
    (layout) => {
      const sealed = vectors.cases.find((one) => one.layout === layout);
      if (!sealed) throw new Error('no such vector');
      const body = fromBase64(sealed.body);
      const inserted = (at: number, bytes: string) =>
        Buffer.concat([body.subarray(0, at), Buffer.from(bytes, 'latin1'), body.subarray(at)]);
      const around = inserted(body.indexOf('{') + 1, '"y":"\xff",');
      // Base64 is decoded without it.
      const within = inserted(body.lastIndexOf('="'), '\xff');
      for (const odd of [around, within])
        expect(() => openMessage(verified(odd, 'json'), deliveryParts({ layout }))).toThrow(
          expect.objectContaining({ code: 'UNPARSABLE' }),
        );
    },
  );

  it.each(['json', 'payload/json', 'payload/iv12.ciphertext.tag16'])(
    'that is large is never made into objects as a whole (%s)',
    (layout) => {
      const items = Array(LARGE_BODY_BYTES / 4)
        .fill('[1]')
        .join(',');
      const body = `{"type":"x","payload":{"iv":[${items}]}}`;
      const parse = vi.spyOn(JSON, 'parse');
      open(verified(body), deliveryParts({ layout }), ({ message }) => expect(message.toString()).toBe(body));
      expect(parse.mock.calls.filter(([text]) => text.length > LARGE_BODY_BYTES)).toEqual([]);
      parse.mockRestore();
    },
  );

  it.each(vectors.cases.filter(({ layout }) => /json|payload/.test(layout)))(
    'that is large opens as a small one does in the layout $layout',
    ({ layout, body }) => {
      const sealed = fromBase64(body).toString();
      const name = layout.startsWith('payload') ? 'payload' : 'data';
      const space = ' '.repeat(LARGE_BODY_BYTES);
      const inner = sealed.replace(/"payload" *: *\{/, `$&${space}`);
      const outcome = (text: string) => {
        try {
          const parts = deliveryParts({ layout });
          return open(verified(text), parts, ({ message }) => message.toString().replaceAll(space, ''));
        } catch (error) {
          return (error as { code?: string }).code;
        }
      };
      const twice = (value: string) => [
        `{"${name}":${value},${sealed.slice(1)}`,
        sealed.replace(/\}\s*$/, `,"${name}":${value}}`),
      ];
      const variants = [
        sealed,
        inner,
        ...twice('1'),
        ...twice('{}'),
        `${sealed}]`,
        sealed.slice(0, -1),
        `[${sealed}]`,
      ];
      for (const variant of variants)
        expect(outcome(variant.replace('{', `{${space}`))).toBe(outcome(variant.replaceAll(space, '')));
    },
  );

  it('of any bytes in any layout is the same under either media type', () => {
    const layouts = vectors.cases.map(({ layout }) => layout);
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => Buffer.from(text)),
      fc.constantFrom(...vectors.cases.map(({ body }) => fromBase64(body))),
    );
    fc.assert(
      fc.property(bytes, fc.constantFrom(...layouts), (body, layout) => {
        const outcome = (mediaType: (typeof MEDIA_TYPES)[number]) => {
          const delivery = verified(Buffer.from(body), mediaType);
          const parts = deliveryParts({ layout });
          const id = identifyDelivery(delivery, parts).eventId;
          try {
            const { message, eventId } = openMessage(delivery, parts);
            expect(eventId).toBe(id);
            return [id, message.toString('base64')];
          } catch (error) {
            if (!hasCode(error, 'UNDECRYPTABLE', 'UNPARSABLE')) throw error;
            return [id, error.code];
          }
        };
        expect(outcome('json')).toEqual(outcome('octet-stream'));
      }),
    );
  });
});
