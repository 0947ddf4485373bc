import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandIdOf, parseCommand } from '../../src/control/read-command.ts';
import { HooklineError } from '../../src/core/errors.ts';

const base = { commandId: 'c-1', type: 'subscription.create', ref: 'ledger-eu' };

/** The faults that are said of the fields, between the brackets of the message. */
function faultsOf(fields: object): string[] {
  try {
    parseCommand(fields as Record<string, unknown>);
    return [];
  } catch (error) {
    if (!(error instanceof HooklineError)) throw error;
    expect(error).toMatchObject({ code: 'COMMAND_INVALID', result: 'REJECTED' });
    return (/ \((.*)\)$/s.exec(error.message)?.[1] ?? '').split('; ');
  }
}

const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });

describe('a command', () => {
  it('needs an id, a type and a ref; the rest has a meaning when it is absent', () => {
    expect(parseCommand(base)).toEqual({
      ...base,
      events: null,
      executionIds: null,
      extra: {},
      issuedBy: null,
      expiresAt: null,
      dryRun: false,
      ifMatch: null,
      unknownFields: [],
    });
    const absent = { events: null, executionIds: null, extra: null, issuedBy: null, expiresAt: null };
    expect(parseCommand({ ...base, ...absent, dryRun: null, issuedAt: null })).toEqual(parseCommand(base));
  });

  it('is read whole', () => {
    const fields = {
      commandId: '0b9f',
      type: 'webhook.replay',
      ref: 'a',
      executionIds: ['x', 'y'],
      events: [],
      extra: { n: [1] },
      issuedBy: 'ledger',
      issuedAt: 5,
      expiresAt: '2026-11-21T08:00:00+01:00',
      dryRun: true,
      ifMatch: 'c-0',
    };
    const { issuedAt, ...kept } = fields;
    expect(parseCommand(fields)).toEqual({
      ...kept,
      expiresAt: Date.parse('2026-11-21T07:00:00Z'),
      unknownFields: [],
    });
  });

  it.each(['subscription.create', 'subscription.update', 'subscription.adopt'])(
    '%s with an empty list of events is told so: nothing would be delivered any more',
    (type) => {
      expect(faultsOf({ ...base, type, events: [] })).toEqual([
        'events is empty: name at least one, or leave it out',
      ]);
      expect(parseCommand({ ...base, type, events: null }).events).toBeNull();
    },
  );

  it('names fields that nobody knows', () => {
    expect(parseCommand({ ...base, evnets: ['x'], Ref: 'b' }).unknownFields).toEqual(['evnets', 'Ref']);
  });

  it('has extra as a JSON object, in Avro as the text of one', () => {
    for (const extra of [{ a: { b: 1 } }, '{"a":{"b":1}}'])
      expect(parseCommand({ ...base, extra }).extra).toEqual({ a: { b: 1 } });
    for (const extra of ['', null]) expect(parseCommand({ ...base, extra }).extra).toEqual({});
  });

  it('may be a list without a ref, and no other', () => {
    expect(parseCommand({ commandId: 'c', type: 'subscription.list' }).ref).toBe('');
    expect(faultsOf({ commandId: 'c', type: 'subscription.delete' })).toEqual([
      expect.stringContaining('ref must match'),
    ]);
  });

  it.each([
    ['commandId', [undefined, null, '', 5, 'a b', 'ä', 'x'.repeat(201), {}]],
    ['type', [undefined, null, '', 'subscription.pause', 'toString', ['subscription.list'], 5]],
    ['ref', [undefined, null, '', '../a', 'A', '-a', 'a'.repeat(64), 'a\n', 5, ['a']]],
    ['events', ['payment-status', [''], [5], [null], {}, 5, false]],
    ['executionIds', ['x', [''], {}]],
    ['extra', [[], 5, '[]', '5', 'text', '{"a":', true]],
    ['issuedBy', [5, {}, []]],
    ['expiresAt', ['soon', '2026-11-21', '2026-11-21T07:00:00', 1.5, Number.NaN, {}, '']],
    ['issuedAt', ['soon', true]],
    ['dryRun', ['true', 1, {}]],
  ])('with a wrong %s is told so, once', (field, values) => {
    for (const value of values) {
      const faults = faultsOf({ ...base, [field]: value });
      expect(faults, JSON.stringify(value)).toEqual([expect.stringMatching(new RegExp(`^${field} must`))]);
    }
  });

  it.each([
    [{ commandId: 'c', type: 'webhook.replay', ref: 'a' }, ['webhook.replay needs executionIds']],
    [
      { commandId: 'c', type: 'webhook.replay', ref: 'a', executionIds: [] },
      ['webhook.replay needs executionIds'],
    ],
    [
      { commandId: 'c', type: 'webhook.replay', ref: 'a', executionIds: 5 },
      ['executionIds must be a list of texts'],
    ],
    [
      {
        commandId: 'c',
        type: 'webhook.replay',
        ref: 'a',
        executionIds: Array.from({ length: 1_001 }, String),
      },
      ['executionIds has 1001 entries, at most 1000 are taken: send several commands'],
    ],
    [{ ...base, events: ['payment-status', ''] }, ['events must be a list of texts, none of them empty']],
    [{ ...base, executionIds: [''] }, ['executionIds must be a list of texts, none of them empty']],
    [{ commandId: 'c', type: 'subscription.pause' }, ['type must be one of']],
    [{}, ['type must be', 'commandId must be']],
  ])('%j has each of its faults said once', (fields, said) => {
    expect(faultsOf(fields)).toEqual(said.map((fault) => expect.stringContaining(fault)));
  });

  it('may have extra of 64 levels: of thousands it could be read and not be written again', () => {
    expect(faultsOf({ ...base, extra: nested(64) })).toEqual([]);
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    for (const extra of [nested(65), deep, JSON.parse(deep)])
      expect(faultsOf({ ...base, extra })).toEqual([expect.stringContaining('at most 64 levels')]);
  });

  it('of any fields is a command, or faults in our words', () => {
    const known = fc.constantFrom(...Object.keys(parseCommand(base)), 'issuedAt', '__proto__', 'x');
    const fields = fc.dictionary(known, fc.oneof(fc.anything(), fc.constantFrom(...Object.values(base))));
    fc.assert(
      fc.property(fields, (given) => {
        const faults = faultsOf(given);
        expect(new Set(faults).size).toBe(faults.length);
        expect(commandIdOf(given) === null).toBe(faults.some((fault) => fault.startsWith('commandId')));
      }),
    );
  });
});
