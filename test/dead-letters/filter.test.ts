import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/core/errors.ts';
import { parseFilter } from '../../src/dead-letters/filter.ts';
import { deadLetter } from '../support/dead-letter.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const HOUR = 3_600_000;
const deadLetters = {
  sealed: deadLetter({ at: '0:1', time: NOW - 2 * HOUR, stage: 'DECRYPT', ref: 'ledger-eu', eventId: 'a' }),
  broken: deadLetter({ at: '1:2', time: NOW - HOUR, stage: 'PARSE', ref: 'ledger-us', eventId: 'b' }),
  large: deadLetter({ at: '2:3', time: NOW, stage: 'PRODUCE', ref: 'ledger-eu', eventId: 'c', missing: [2] }),
  foreign: deadLetter({ at: '4:5', time: NOW, stage: 'someone-else', ref: 'x', eventId: 'e' }),
  done: deadLetter({
    at: '3:4',
    time: NOW,
    stage: 'DECRYPT',
    ref: 'ledger-eu',
    eventId: 'd',
    redriven: true,
  }),
};

const matching = (...conditions: string[]) => {
  const filter = parseFilter(conditions, NOW);
  return Object.entries(deadLetters).flatMap(([name, one]) => (filter.matches(one) ? [name] : []));
};

describe('a filter of dead-letter records', () => {
  it.each([
    [[], ['sealed', 'broken', 'large', 'foreign', 'done']],
    [['stage=FOREIGN'], ['foreign']],
    [['stage=FOREIGN,PARSE'], ['broken', 'foreign']],
    [['stage=DECRYPT'], ['sealed', 'done']],
    [['stage=PARSE,PRODUCE'], ['broken', 'large']],
    [['stage=DECRYPT', 'state=open'], ['sealed']],
    [['state=incomplete,redriven'], ['large', 'done']],
    [['ref=ledger-eu', 'until=30m'], ['sealed']],
    [['since=90m'], ['broken', 'large', 'foreign', 'done']],
    [['since=2026-11-21T11:00:00Z', 'until=2026-11-21T11:59:59Z'], ['broken']],
    [['id=b, c'], ['broken', 'large']],
    [['at=0:1,3:4'], ['sealed', 'done']],
    [['code=UNDECRYPTABLE'], ['sealed', 'broken', 'large', 'foreign', 'done']],
    [['topic=payments.payment-status'], []],
    [['topic=undefined'], []],
  ])('%j matches %j', (conditions, names) => {
    expect(matching(...conditions)).toEqual(names);
  });

  it.each([
    ['stage', 'give name=value'],
    ['colour=red', 'give name=value'],
    ['stage=', 'give name=value'],
    ['stage=LUNCH', 'give DECRYPT, PARSE'],
    ['state=closed', 'give open, redriven, dismissed, incomplete'],
    ['at=2', 'give partition:offset'],
    ['since=yesterday', 'give a time'],
    ['until=5w', 'give a time'],
    ['since=1h,2h', 'give a time'],
    ['topic=payments.payment-status,', 'one of its values is empty'],
    ['topic= ,x', 'one of its values is empty'],
  ])('%s is refused with what is accepted', (condition, remedy) => {
    expect(() => parseFilter([condition])).toThrow(UsageError);
    expect(() => parseFilter([condition])).toThrow(remedy);
  });

  it('matches by the position of any record of a dead-letter record', () => {
    const copies = [
      { partition: 0, offset: 1n },
      { partition: 0, offset: 9n },
    ];
    expect(parseFilter(['at=0:9']).matches({ ...deadLetters.sealed, copies })).toBe(true);
  });

  it('compares records with a long list as fast as with a short one', { timeout: 20_000 }, () => {
    const filter = parseFilter([`id=${Array.from({ length: 100_000 }, (_, n) => `event-${n}`).join(',')}`]);
    const other = deadLetter({ eventId: 'event-none' });
    let matches = 0;
    // One value after the other, it takes more than half a minute.
    for (let n = 0; n < 400_000; n++) if (filter.matches(other)) matches++;
    expect(matches).toBe(0);
  });
});
