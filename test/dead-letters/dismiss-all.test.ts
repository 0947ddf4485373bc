import { describe, expect, it } from 'vitest';
import { HooklineError, UsageError } from '../../src/core/errors.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { dismissAll, parseDismissal } from '../../src/dead-letters/dismiss-all.ts';
import { deadLetter } from '../support/dead-letter.ts';

const position = { topic: 'dead-letter', partition: 0, offset: 9n };

function run(publish: (record: OutgoingRecord) => Promise<typeof position>, dryRun = false) {
  const progress: number[] = [];
  const outcomes = dismissAll(
    [deadLetter({ at: '0:1', eventId: 'first' }), deadLetter({ at: '0:2', time: 2_000, eventId: 'second' })],
    {
      dismissal: { reason: 'test data', by: 'ops' },
      deadLetterTopic: 'dead-letter',
      publish,
      dryRun,
      rate: undefined,
      signal: new AbortController().signal,
      onProgress: (done) => progress.push(done.length),
    },
  );
  return { outcomes, progress };
}

describe('the reason and the user of a dismissal', () => {
  it('are one line each, without blanks around it', () => {
    expect(parseDismissal({ reason: ' test data ', by: 'ops' })).toEqual({ reason: 'test data', by: 'ops' });
    expect(parseDismissal({ reason: 'é'.repeat(500), by: 'o'.repeat(100) }).reason).toHaveLength(500);
  });

  it.each([
    ['no reason', { by: 'ops' }, '--reason is missing: say why'],
    ['an empty reason', { reason: ' \t ', by: 'ops' }, '--reason is missing: say why'],
    ['no user', { reason: 'r' }, '--by is missing'],
    ['a long reason', { reason: 'r'.repeat(501), by: 'ops' }, '501 characters: give at most 500'],
    ['a long user', { reason: 'r', by: 'o'.repeat(101) }, '101 characters: give at most 100'],
    ['several lines', { reason: 'a\nb', by: 'ops' }, 'control characters'],
  ])('are refused: %s', (_, given, message) => {
    expect(() => parseDismissal(given)).toThrow(UsageError);
    expect(() => parseDismissal(given)).toThrow(message);
  });
});

describe('a dismissal of several records', () => {
  it('writes one marker each, without a value, in the partition of its record, and says how far it is', async () => {
    const written: OutgoingRecord[] = [];
    const { outcomes, progress } = run(async (record) => {
      written.push(record);
      return position;
    });
    expect((await outcomes).map(({ outcome }) => outcome)).toEqual(['dismissed', 'dismissed']);
    expect(written.map(({ key, value }) => [`${key}`, value])).toEqual([
      ['first', null],
      ['second', null],
    ]);
    expect(progress).toEqual([1, 2]);
  });

  it('ends before the next one where the right to go on has ended', async () => {
    const written: OutgoingRecord[] = [];
    let checks = 0;
    const outcomes = await dismissAll(
      [1, 2, 3].map((n) => deadLetter({ at: `0:${n}`, time: n, eventId: `e-${n}` })),
      {
        dismissal: { reason: 'test data', by: 'ops' },
        deadLetterTopic: 'dead-letter',
        rate: undefined,
        signal: new AbortController().signal,
        onProgress() {},
        check() {
          if (++checks === 2) throw new Error('the lease is over');
        },
        async publish(record) {
          written.push(record);
          return position;
        },
      },
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['dismissed', 'waiting', 'waiting']);
    expect(written).toHaveLength(1);
  });

  it('publishes nothing in a dry run', async () => {
    const { outcomes } = run(() => expect.fail('published'), true);
    expect((await outcomes).map(({ outcome }) => outcome)).toEqual(['dismissed', 'dismissed']);
  });

  it('says what the brokers did not confirm', async () => {
    const { outcomes } = run(() => Promise.reject(new HooklineError('PUBLISH_DEADLINE')));
    expect((await outcomes)[0]).toMatchObject({ outcome: 'failed', code: 'PUBLISH_DEADLINE' });
  });
});
