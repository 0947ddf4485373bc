import { describe, expect, it } from 'vitest';
import { RESULT_STATUSES } from '../../src/core/command.ts';
import { ERRORS, type ErrorCode, HooklineError, hasCode } from '../../src/core/errors.ts';

const codes = Object.keys(ERRORS) as ErrorCode[];
const errors = codes.map((code) => new HooklineError(code));

describe('the error table', () => {
  it('says of every failure something that no other one says', () => {
    const texts = errors.map(({ message }) => message);
    expect(new Set(texts).size).toBe(codes.length);
    expect(texts.filter((text) => /[.:]$|^[A-Z][a-z]/.test(text))).toEqual([]);
  });

  it('is ASCII, as answers are sent', () => {
    expect(errors.filter(({ code, message }) => /[^ -~]/.test(code + message))).toEqual([]);
  });

  it('answers 200 to a webhook if and only if it becomes a dead-letter record', () => {
    for (const { code, status, deadLetter } of errors) {
      if (status !== null) expect([code, deadLetter !== undefined]).toEqual([code, status === 200]);
    }
  });

  it('keeps the promise: what may be sent again is not refused for good, and never a 410', () => {
    for (const { code, status, retryable } of errors) {
      expect([code, status]).not.toEqual([code, 410]);
      if (status !== null && status >= 500) expect([code, retryable]).toEqual([code, true]);
    }
  });

  it('gives the results of failed commands a status of failure', () => {
    const results = new Set(errors.flatMap(({ result }) => result ?? []));
    expect([...results].sort()).toEqual(RESULT_STATUSES.filter((one) => one !== 'SUCCEEDED').sort());
  });
});

describe('an error of ours', () => {
  it('has the row of its code, says the detail behind its text, and keeps topic and cause', () => {
    const cause = new Error('socket hang up');
    const error = new HooklineError('UNDECRYPTABLE', 'ref ledger-eu', {
      cause,
      topic: 'payments.dead-letter',
    });
    expect(error).toMatchObject({
      name: 'HooklineError',
      code: 'UNDECRYPTABLE',
      message: 'no encryption key of the subscription opens the body (ref ledger-eu)',
      status: 200,
      retryable: false,
      deadLetter: 'DECRYPT',
      result: undefined,
      topic: 'payments.dead-letter',
      cause,
    });
    expect(new HooklineError('STOPPING').message).toBe('this process is stopping');
  });

  it('is told from others by its code', () => {
    const error = new HooklineError('NOT_OWNER');
    expect([hasCode(error, 'UNKNOWN_REF', 'NOT_OWNER'), hasCode(error, 'UNKNOWN_REF')]).toEqual([
      true,
      false,
    ]);
    expect(hasCode({ code: 'NOT_OWNER' }, 'NOT_OWNER')).toBe(false);
    expect(hasCode(undefined, 'NOT_OWNER')).toBe(false);
  });
});

it('a message that is valid JSON and no object, such as an array, is not called other than JSON', () => {
  expect(new HooklineError('UNPARSABLE').message).toBe('the message is not a JSON object in UTF-8');
});
