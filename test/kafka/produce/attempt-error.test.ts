import { describe, expect, it } from 'vitest';
import { AttemptError, toAttemptError } from '../../../src/kafka/produce/attempt-error.ts';

const withId = (apiId: string) => Object.assign(new Error('Kafka says'), { apiId });

describe('the judgement of a failed attempt', () => {
  it.each([
    ['MESSAGE_TOO_LARGE', 'split'],
    ['RECORD_LIST_TOO_LARGE', 'split'],
    ['TOPIC_AUTHORIZATION_FAILED', 'refused'],
    ['INVALID_RECORD', 'refused'],
    ['NOT_LEADER_OR_FOLLOWER', 'retry'],
    ['NOT_ENOUGH_REPLICAS', 'retry'],
    ['UNKNOWN_TOPIC_OR_PARTITION', 'retry'],
    ['REQUEST_TIMED_OUT', 'unknown'],
    ['UNKNOWN_SERVER_ERROR', 'unknown'],
  ])('%s is %s', (apiId, outcome) => {
    expect(toAttemptError(withId(apiId))).toMatchObject({ outcome, message: apiId });
  });

  it('finds the code in aggregates and causes', () => {
    const nested = new AggregateError([
      new Error('first'),
      new Error('second', { cause: withId('MESSAGE_TOO_LARGE') }),
    ]);
    expect(toAttemptError(nested).outcome).toBe('split');
  });

  it('is doubt for whatever is not known: a lost connection, a time-out, no error at all', () => {
    expect(toAttemptError(Object.assign(new Error('reset'), { code: 'PLT_KFK_NETWORK' })).outcome).toBe(
      'unknown',
    );
    expect(toAttemptError('text').outcome).toBe('unknown');
    expect(toAttemptError(undefined).outcome).toBe('unknown');
  });

  it("knows the client's words for a topic that is not there", () => {
    expect(toAttemptError(new Error('Unknown topic payments.x.'))).toMatchObject({ outcome: 'retry' });
  });

  it('leaves a judgement as it is, and ends on causes that go round', () => {
    const judged = new AttemptError('replan', 'six');
    expect(toAttemptError(judged)).toBe(judged);
    const round = new Error('round');
    round.cause = round;
    expect(toAttemptError(round).outcome).toBe('unknown');
  });
});
