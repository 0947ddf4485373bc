import { describe, expect, it } from 'vitest';
import { parseCommand } from '../../src/control/read-command.ts';
import { resultOf, resultOfPoison } from '../../src/control/result.ts';
import { ERRORS, type ErrorCode, HooklineError } from '../../src/core/errors.ts';

const circumstances = {
  receivedAt: 5,
  finishedAt: 9,
  position: { topic: 't', partition: 2, offset: 7 },
  attempts: 3,
  httpStatus: 201,
};
const commandOf = (more: object = {}) =>
  parseCommand({ commandId: 'c-1', type: 'subscription.create', ref: 'a', issuedBy: 'ledger', ...more });

describe('the result of a command', () => {
  it('that ended well says what came of it, and where the command stands', () => {
    const end = { message: 'created', subscriptionId: 's-1' };
    expect(resultOf(commandOf(), end, circumstances)).toEqual({
      commandId: 'c-1',
      type: 'subscription.create',
      ref: 'a',
      status: 'SUCCEEDED',
      subscriptionId: 's-1',
      httpStatus: 201,
      errorCode: null,
      message: 'created',
      attempts: 3,
      subscriptions: null,
      drift: null,
      issuedBy: 'ledger',
      dryRun: false,
      receivedAt: 5,
      finishedAt: 9,
      commandTopic: 't',
      commandPartition: 2,
      commandOffset: 7,
    });
  });

  it('names fields that nobody knows: a mistyped one is not passed over in silence', () => {
    const { message } = resultOf(commandOf({ evnets: [] }), { message: 'created' }, circumstances);
    expect(message).toBe('created (unknown fields passed over: evnets)');
  });

  it('has the status of its error, and FAILED for one that is no end of a command by itself', () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      const error = new HooklineError(code);
      const { status, errorCode } = resultOf(commandOf(), error, circumstances);
      expect([status, errorCode]).toEqual([error.result ?? 'FAILED', code]);
    }
  });

  it('that can not be read says what it said of itself, where that is text', () => {
    const reason = new HooklineError('COMMAND_INVALID', 'type must be one of');
    const poison = { ok: false, reason, commandId: 'c-1' } as const;
    const odd = { type: ['x'], ref: 5, issuedBy: {}, dryRun: 'yes' };
    const said = { commandId: 'c-1', ...circumstances };
    expect(resultOfPoison({ ...poison, fields: odd }, said)).toMatchObject({
      status: 'REJECTED',
      errorCode: 'COMMAND_INVALID',
      type: '',
      ref: null,
      issuedBy: null,
      dryRun: false,
    });
    const fields = { type: 'x', ref: '../a', issuedBy: 'b', dryRun: true };
    expect(resultOfPoison({ ...poison, fields }, said)).toMatchObject(fields);
  });

  it('repeats no megabyte that its sender wrote', () => {
    const long = 'x'.repeat(1_000_000);
    const error = new HooklineError('UNKNOWN_EVENT', long);
    const result = resultOf(commandOf({ issuedBy: long, [long]: 1 }), error, circumstances);
    const poison = {
      ok: false,
      reason: error,
      commandId: 'c',
      fields: { type: long, ref: long, issuedBy: long },
    } as const;
    for (const one of [result, resultOfPoison(poison, { commandId: 'c', ...circumstances })]) {
      expect(JSON.stringify(one).length).toBeLessThan(10_000);
      expect(one.message).toMatch(/^the dialect has no such event \(x+…$/);
    }
  });
});
