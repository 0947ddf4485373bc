import { describe, expect, it } from 'vitest';
import { DEFAULT_DIALECT, eventNameOf, parseDialect, providerNameOf } from '../../src/provider/dialect.ts';

describe('the name of an event', () => {
  it.each([
    ['payment_status', 'payment-status'],
    ['payment-status', 'payment-status'],
    ['PAYMENT_STATUS', 'payment-status'],
    ['accounts_entries', 'accounts-entries'],
    ['collection-status', 'collection-status'],
    ['refunds', undefined],
    ['', undefined],
    ['constructor', undefined],
    ['__proto__', undefined],
  ])('%j is %j', (spelling, ours) => {
    expect(eventNameOf(DEFAULT_DIALECT, spelling)).toBe(ours);
  });

  it("is known by the service's own word, and told to it by that word", () => {
    const dialect = parseDialect('{"eventNames":{"payment-status":"PAY.STATUS"}}');
    expect(eventNameOf(dialect, 'pay.status')).toBe('payment-status');
    expect(providerNameOf(dialect, 'payment-status')).toBe('PAY.STATUS');
  });

  it.each(['refunds', 'constructor', 'toString', '__proto__'])(
    'that the dialect does not have, %s, is told to the service as it is',
    (event) => {
      expect(providerNameOf(DEFAULT_DIALECT, event)).toBe(event);
    },
  );
});
