import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_DIALECT, parseDialect } from '../../src/provider/dialect.ts';

describe('the dialect', () => {
  it('is the documented one where a file says nothing', () => {
    expect(parseDialect('{}')).toEqual(DEFAULT_DIALECT);
    expect(DEFAULT_DIALECT).toMatchObject({
      create: {
        body: { url: '{url}', events: '{events}', encryptionKey: '{encryptionKey}' },
        response: { id: ['id'], signingSecret: ['signingSecret'] },
      },
      list: { items: [], id: ['id'], url: ['url'], events: ['events'] },
      eventNames: { 'payment-status': 'payment_status' },
    });
  });

  it('is changed key by key, a body as a whole', () => {
    const dialect = parseDialect(
      JSON.stringify({
        create: { body: { hook: { address: '{url}' } }, response: { id: '/data/a~1b' } },
        list: { items: '/subscriptions' },
        eventNames: { refunds: 'REFUND' },
      }),
    );
    expect(dialect.create.body).toEqual({ hook: { address: '{url}' } });
    expect(dialect.create.response).toEqual({ id: ['data', 'a/b'], signingSecret: ['signingSecret'] });
    expect(dialect.list).toEqual({ ...DEFAULT_DIALECT.list, items: ['subscriptions'] });
    expect(dialect.eventNames).toEqual({ ...DEFAULT_DIALECT.eventNames, refunds: 'REFUND' });
  });

  it.each([
    ['', ['is no JSON']],
    ['[]', ['the file must be an object']],
    ['null', ['the file must be an object']],
    ['{"crate":{}}', ['crate is unknown: use create, update, list, replay, extra, eventNames']],
    ['{"create":null}', ['create must be an object']],
    ['{"create":{"response":[]}}', ['create.response must be an object']],
    ['{"create":{"response":{"id":"id"}}}', ['create.response.id must be a JSON pointer']],
    ['{"list":{"items":null}}', ['list.items must be a JSON pointer']],
    ['{"list":{"actve":"/x"}}', ['list.actve is unknown']],
    ['{"__proto__":{}}', ['__proto__ is unknown: use create']],
    ['{"eventNames":{"__proto__":{"a":"b"}}}', ['eventNames.__proto__ must be a non-empty string']],
    ['{"extra":{"mayReplace":[]}}', ['extra.mayReplace is no longer known: name in extra.allow']],
    ['{"extra":{"allow":"note"}}', ['extra.allow must be a list of names of fields']],
    ['{"extra":{"allow":[1]}}', ['extra.allow must be a list of names of fields']],
    ['{"extra":{"allow":["note","URL"]}}', ['extra.allow names "URL", which sets the address: take it out']],
    ['{"extra":{"allow":["encryption_key"]}}', ['which sets the key: take it out']],
    ['{"extra":{"allow":["executionID"]}}', ['which a body of the dialect sets itself: take it out']],
    ['{"update":{"body":"{url}"}}', ['update.body must be an object']],
    ['{"update":{"body":{"a":["{secret}"]}}}', ['update.body uses {secret}: known are url, events']],
    ['{"eventNames":{"payment-status":""}}', ['eventNames.payment-status must be a non-empty string']],
    ['{"eventNames":{"payment-status":null}}', ['eventNames.payment-status must be a non-empty string']],
    ['{"create":5,"list":{"id":"x"}}', ['create must be an object', 'list.id must be a JSON pointer']],
  ])('of %s is refused, each fault by its key', (text, faults) => {
    const parse = () => parseDialect(text);
    for (const fault of faults) expect(parse).toThrow(fault);
  });

  it('of any JSON is a dialect or a fault in words', () => {
    const keys = fc.constantFrom(
      'create',
      'list',
      'body',
      'response',
      'id',
      'items',
      'eventNames',
      '__proto__',
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.string(), fc.integer(), fc.constant(null), tie('object')),
      object: fc.dictionary(keys, tie('value')),
    })).object;
    fc.assert(
      fc.property(json, (given) => {
        try {
          expect(Object.keys(parseDialect(JSON.stringify(given)))).toEqual(Object.keys(DEFAULT_DIALECT));
        } catch (error) {
          expect((error as Error).message).toMatch(/must be|is unknown|asks for/);
        }
      }),
    );
  });
});
