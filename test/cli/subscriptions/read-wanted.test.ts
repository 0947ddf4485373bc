import { describe, expect, it } from 'vitest';
import { readWanted } from '../../../src/cli/subscriptions/read-wanted.ts';
import { DEFAULT_DIALECT, parseDialect } from '../../../src/provider/dialect.ts';

const read = (text: string, dialect = DEFAULT_DIALECT) => readWanted('s.yaml', text, dialect);
const faultsOf = (text: string) => {
  const found = read(text);
  return 'faults' in found ? found.faults : expect.fail(JSON.stringify(found));
};

describe('a file of subscriptions', () => {
  it('is read with the position of each entry', () => {
    const text = [
      'topic: payments.commands-ledger',
      'subscriptions:',
      '  ledger-eu:',
      '    events: [payment_status, accounts-entries, payment-status]',
      '    extra: { label: { team: ledger } }',
      '  legacy: { adopt: true }',
    ].join('\n');
    expect(read(text)).toEqual({
      wanted: {
        topic: 'payments.commands-ledger',
        subscriptions: [
          {
            ref: 'ledger-eu',
            events: ['accounts-entries', 'payment-status'],
            adopt: false,
            extra: { label: { team: 'ledger' } },
            at: 's.yaml:3:3',
          },
          { ref: 'legacy', events: null, adopt: true, extra: {}, at: 's.yaml:6:3' },
        ],
      },
    });
  });

  it('may be empty, use anchors and aliases, and have refs that look like numbers', () => {
    expect(read('subscriptions: {}')).toEqual({ wanted: { topic: undefined, subscriptions: [] } });
    const shared = read('subscriptions:\n  0123: &all { events: [payment-status] }\n  b: *all');
    expect(shared).toMatchObject({
      wanted: {
        subscriptions: [
          { ref: '0123', events: ['payment-status'] },
          { ref: 'b', events: ['payment-status'] },
        ],
      },
    });
  });

  it("knows the dialect's own names of events", () => {
    const dialect = parseDialect('{"eventNames":{"refunds":"REFUND_MADE"}}');
    expect(read('subscriptions:\n  a: { events: [REFUND_MADE] }', dialect)).toMatchObject({
      wanted: { subscriptions: [{ events: ['refunds'] }] },
    });
  });

  it.each([
    ['', ['s.yaml:1:1: the file must be a map, not nothing']],
    ['- a', ['s.yaml:1:1: the file must be a map, not a list']],
    ['{}', ['s.yaml:1:1: subscriptions is missing: give a map by ref; {} means that there are none']],
    ['subscriptions:', ['s.yaml:1:15: subscriptions must be a map by ref, not nothing']],
    ['subscriptions: [a]', ['s.yaml:1:16: subscriptions must be a map by ref, not a list']],
    ['subscriptions:\n  a:\n    evnts: [x]', ['s.yaml:3:5: unknown field "evnts": use events, adopt, extra']],
    [
      'subscriptons: {}\nsubscriptions: {}',
      ['s.yaml:1:1: unknown field "subscriptons": use topic, subscriptions'],
    ],
    ['subscriptions:\n  a: {}', ['s.yaml:2:3: a needs events, such as [payment-status]']],
    ['subscriptions:\n  a:', ['s.yaml:2:5: a must be a map, not nothing']],
    [
      'subscriptions:\n  a: { events: payment-status }',
      ['s.yaml:2:16: events must be a list, not "payment-status"'],
    ],
    [
      'subscriptions:\n  a: { events: [] }',
      ['s.yaml:2:16: events must have at least one entry: known are payment-status'],
    ],
    [
      'subscriptions:\n  a: { events: [payment-status, 5, paymnt_status] }',
      [
        's.yaml:2:33: an event must be a string, not 5',
        's.yaml:2:36: unknown event "paymnt_status": known are',
      ],
    ],
    [
      'subscriptions:\n  a: { adopt: "yes", extra: [1] }',
      ['s.yaml:2:15: adopt must be true or false, not "yes"', 's.yaml:2:29: extra must be a map, not a list'],
    ],
    ['subscriptions:\n  Ledger: { adopt: true }', ['s.yaml:2:3: "Ledger" is not a ref: give at most 63 of']],
    [
      'topic: 5\nsubscriptions: {}',
      ["s.yaml:1:8: topic must be a command topic's full name as a string, not 5"],
    ],
    ['subscriptions: {}\n---\na: 1', ['s.yaml:2:1: a second YAML document starts here: give only one']],
    [
      'subscriptions:\n  a: { adopt: true }\n  a: { adopt: true }',
      ['s.yaml:3:3: the map already has this name'],
    ],
    ['subscriptions: {', ['s.yaml:1:17: ']],
    ['subscriptions: *nobody', ['s.yaml:1:16: ']],
  ])('%j is refused, each fault by its line and column', (text, wanted) => {
    const faults = faultsOf(text);
    expect(faults).toEqual(wanted.map((one) => expect.stringContaining(one)));
    expect(faults.map((fault, n) => fault.startsWith(wanted[n] ?? '-'))).toEqual(wanted.map(() => true));
  });

  it('whose aliases expand too far is refused', () => {
    const levels = ['l0: &l0 [x]'];
    for (let n = 1; n < 9; n++)
      levels.push(
        `l${n}: &l${n} [${Array(9)
          .fill(`*l${n - 1}`)
          .join(', ')}]`,
      );
    const text = `subscriptions:\n  a:\n    adopt: true\n    extra:\n${levels.map((one) => `      ${one}`).join('\n')}`;
    expect(faultsOf(text)).toEqual([
      's.yaml:5:7: Excessive alias count indicates a resource exhaustion attack',
    ]);
  });

  it('of which a part contains itself is refused', () => {
    const text = 'subscriptions:\n  a:\n    adopt: true\n    extra: &all { b: *all }';
    expect(faultsOf(text)).toEqual(['s.yaml:4:17: the value contains itself by an alias']);
  });

  it.each([
    ['maps without a comma', `{${Array.from({ length: 12_000 }, (_, n) => `"${n}":`).join('')}}`],
    ['lists', '['.repeat(50_000)],
    ['items', '- '.repeat(50_000)],
  ])('of which %s are nested too deeply is refused', (_, text) => {
    expect(faultsOf(text).some((fault) => /^s\.yaml:1:\d+: values are nested too deeply$/.test(fault))).toBe(
      true,
    );
  });
});
