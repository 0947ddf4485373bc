import { expect, it } from 'vitest';
import { describeError } from '../../../src/cli/shell/shell.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { ObjectStoreFault } from '../../../src/object-store/object-store.ts';

it.each<[string, unknown, string]>([
  ['its first line', new Error('failed\n  at something'), 'failed'],
  [
    'the cause where it says more',
    new Error('fetch failed', { cause: new Error('refused') }),
    'fetch failed (refused)',
  ],
  ['and not where it does not', new Error('refused: x', { cause: new Error('refused') }), 'refused: x'],
  ['its name where it has no words', new TypeError(''), 'TypeError'],
  ['the first of several', new AggregateError([new Error('::1 refused'), new Error('other')]), '::1 refused'],
  [
    'the first of several causes',
    new Error('fetch failed', { cause: new AggregateError([new Error('::1 refused')]) }),
    'fetch failed (::1 refused)',
  ],
  [
    'only its own where they say what to do',
    new HooklineError('KAFKA_UNAVAILABLE', 'x', { cause: new Error('y'), remedy: 'correct KAFKA_BROKERS' }),
    'the brokers cannot be reached (x): correct KAFKA_BROKERS',
  ],
  [
    'what to do about the object store',
    new ObjectStoreFault('refused', 'bucket b: no credentials', {
      cause: new Error('y'),
      remedy: 'give them',
    }),
    'bucket b: no credentials: give them',
  ],
  ['of several none', new AggregateError([]), 'AggregateError'],
  ['a text that was thrown', 'odd', 'odd'],
])('an error as one line: %s', (_, error, words) => {
  expect(describeError(error)).toBe(words);
});
