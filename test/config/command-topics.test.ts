import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkCommandTopics,
  commandTopicFor,
  overlapsOf,
  parseCommandTopics,
  refPatternsOf,
  takesRef,
} from '../../src/config/command-topics.ts';

describe('COMMAND_TOPICS', () => {
  it.each([
    ['t.commands,t.ledger=ledger-*', 'ledger-eu', 't.commands'],
    ['t.ledger=ledger-*', 'ledger-eu', 't.ledger'],
    ['t.commands=core-*,t.ledger=ledger-*', 'ledger-eu', 't.ledger'],
    ['t.ledger=ledger-*', null, 't.ledger'],
    ['t.ledger=ledger-*,t.gl=gl-*', 'gl-1', 't.gl'],
    ['t.ledger=ledger-*,t.gl=gl-*', null, null],
    ['t.ledger=ledger-*,t.gl=gl-*', 'other', null],
    ['t.ledger=ledger-*,t.gl', 'ledger-eu', null],
  ])('of %s, with a command for %s: %s', (text, ref, topic) => {
    expect(commandTopicFor(parseCommandTopics(text), { usual: 't.commands', ref })).toBe(topic);
  });

  it('names topics, with or without patterns of refs', () => {
    const topics = parseCommandTopics(
      ' payments.commands, t.ledger=ledger-* ,t.ledger=gl-*,t.ledger=gl-*,t-x,t-x,',
    );
    expect(topics).toEqual([
      { name: 'payments.commands', refs: null },
      { name: 't.ledger', refs: ['ledger-*', 'gl-*'] },
      { name: 't-x', refs: null },
    ]);
    expect(refPatternsOf(topics, 't.ledger')).toEqual(['ledger-*', 'gl-*']);
    expect([refPatternsOf(topics, 't-x'), refPatternsOf(topics, 'unknown')]).toEqual([null, null]);
    expect(parseCommandTopics('')).toEqual([]);
  });

  it.each([
    [',', 'is ",": give one or more topics'],
    [
      't=',
      'has the entry "t=", whose pattern matches no ref: give a-z, 0-9, hyphens and *, such as t=ledger-*',
    ],
    ['t=Ledger-*', 'whose pattern matches no ref'],
    ['t=-a*', 'whose pattern matches no ref'],
    ['t=a|b', 'whose pattern matches no ref'],
    ['t=a=b', 'whose pattern matches no ref'],
    [`t=${'a'.repeat(64)}*`, 'whose pattern matches no ref'],
    ['=ledger-*', "begins with no topic's name: give topic or topic=pattern"],
    ['a topic', "begins with no topic's name"],
    ['t=a,t', 'names t with a pattern of refs and without one'],
    ['t,t=a', 'names t with a pattern of refs and without one'],
  ])('of %j is refused', (text, fault) => {
    expect(() => parseCommandTopics(text)).toThrow(fault);
  });
});

describe('a pattern of refs', () => {
  const asExpression = (pattern: string) => new RegExp(`^${pattern.replaceAll(/\*+/g, '.*')}$`);
  const pattern = fc.array(fc.constantFrom('a', 'b', '-', '*'), { minLength: 1, maxLength: 7 });
  const ref = fc.array(fc.constantFrom('a', 'b', '-'), { maxLength: 8 });

  it.each([
    ['ledger-*', ['ledger-', 'ledger-eu'], ['ledger', 'ledgers-eu', 'x-ledger-eu']],
    ['*-eu', ['-eu', 'a-eu', 'eu-eu'], ['a-eu1', 'eu']],
    ['a*a', ['aa', 'aba'], ['a', 'ab']],
    ['a', ['a'], ['aa', '']],
    ['*', ['', 'a', 'a-b'], []],
  ])('%s', (one, taken, refused) => {
    for (const text of taken) expect(takesRef([one], text), text).toBe(true);
    for (const text of refused) expect(takesRef([one], text), text).toBe(false);
    expect(takesRef(['x', one], taken[0] ?? '')).toBe(true);
  });

  it('matches as the regular expression does that it stands for', () => {
    fc.assert(
      fc.property(pattern, ref, (p, r) => {
        expect(takesRef([p.join('')], r.join(''))).toBe(asExpression(p.join('')).test(r.join('')));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is told where another topic shares refs with it', () => {
    const told = (text: string) => overlapsOf(parseCommandTopics(text));
    expect(told('a=ledger-*,b=*-eu,c=gl-*,d')).toEqual(['a=ledger-* and b=*-eu', 'b=*-eu and c=gl-*']);
    expect(told('a=ledger-*,a=ledger-eu,b=ledger')).toEqual([]);
    fc.assert(
      fc.property(pattern, pattern, ref, (p, q, r) => {
        const one = p.join('');
        const other = q.join('');
        const text = r.join('');
        if (!takesRef([one], text) || !takesRef([other], text)) return;
        const topics = [
          { name: 'a', refs: [one] },
          { name: 'b', refs: [other] },
        ];
        expect(overlapsOf(topics)).toHaveLength(1);
      }),
    );
  });
});

it('what Hookline writes itself is no topic of commands', () => {
  const faults: string[] = [];
  const check = (text: string, prefix?: string) =>
    checkCommandTopics(
      parseCommandTopics(text),
      { prefix, eventTopics: ['payment-succeeded'] },
      { fault: (fault) => faults.push(fault) },
    );
  check('payments.commands,payments.commands.ledger=gl,other.dead-letter', 'payments');
  check('payments.dead-letter', undefined);
  expect(faults).toEqual([]);
  check('payments.dead-letter,payments.subscriptions,payments.audit,payments.payment-succeeded', 'payments');
  expect(faults.map((fault) => fault.split(',')[0])).toEqual([
    'COMMAND_TOPICS names payments.dead-letter',
    'COMMAND_TOPICS names payments.subscriptions',
    'COMMAND_TOPICS names payments.audit',
    'COMMAND_TOPICS names payments.payment-succeeded',
  ]);
});
