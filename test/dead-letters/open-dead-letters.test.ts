import { describe, expect, it } from 'vitest';
import { OpenDeadLetters } from '../../src/dead-letters/open-dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';

let offset = 0n;
const record = (headers: Record<string, string>, timestamp = Number(offset)) => ({
  ...{ partition: 0, offset: offset++, timestamp, headers },
});
const delivery = (eventId: string, stage = 'DECRYPT', more: Record<string, string> = {}) =>
  record({ [NAMES.stage]: stage, [NAMES.eventId]: eventId, [NAMES.receivedAt]: '900', ...more });
const marker = (of: { offset: bigint }, name: string = NAMES.dismissalOf) =>
  record({ [name]: `0:${of.offset}` });

const NOTHING_GONE = new Map<number, bigint>();
const counts = (open: OpenDeadLetters, oldest = NOTHING_GONE) => {
  const { byStage, oldestAt } = open.count(oldest);
  return { ...Object.fromEntries([...byStage].filter(([, count]) => count > 0)), oldestAt };
};

describe('the count of open dead-letter records', () => {
  it('has every stage, at 0 too', () => {
    expect(new OpenDeadLetters().count(NOTHING_GONE)).toEqual({
      byStage: new Map(
        ['DECRYPT', 'PARSE', 'ENCODE', 'PRODUCE', 'SPOOL', 'COMMAND', 'FOREIGN'].map((stage) => [stage, 0]),
      ),
      oldestAt: null,
    });
  });

  it('has what is neither redriven nor dismissed, also with missing parts and of others, and the oldest of it', () => {
    const open = new OpenDeadLetters();
    const [redriven, dismissed, kept] = [delivery('a'), delivery('b'), delivery('c')];
    const parts = { [NAMES.part]: '2', [NAMES.parts]: '3' };
    const all = [
      redriven,
      dismissed,
      kept,
      delivery('d', 'PRODUCE', parts),
      record({}),
      delivery('e', 'LUNCH'),
    ];
    for (const one of all) open.take(one);
    open.take(marker(redriven, NAMES.redriveOf));
    open.take(marker(dismissed));
    expect(counts(open)).toEqual({ DECRYPT: 1, PRODUCE: 1, FOREIGN: 2, oldestAt: kept.timestamp });
  });

  it('loses what retention has deleted', () => {
    const open = new OpenDeadLetters();
    const [old, young] = [delivery('a'), delivery('b', 'PARSE')];
    open.take(old);
    open.take(young);
    expect(counts(open, new Map([[0, young.offset]]))).toEqual({ PARSE: 1, oldestAt: young.timestamp });
  });

  it('joins a copy that the drain of a spool wrote after the redrive: it is not open again', () => {
    const open = new OpenDeadLetters();
    const first = delivery('a');
    for (const one of [first, marker(first), delivery('a')]) open.take(one);
    expect(counts(open)).toEqual({ oldestAt: null });
  });

  it('holds no more than it may: the oldest, and of the others their number, until there is room', () => {
    const open = new OpenDeadLetters(100);
    const all = Array.from({ length: 1_000 }, (_, n) => delivery(`e${n}`, n % 2 ? 'PARSE' : 'DECRYPT'));
    for (const one of all) open.take(one);
    expect(counts(open)).toEqual({ PARSE: 500, DECRYPT: 500, oldestAt: all[0]?.timestamp });
    expect(open.mustReadAgain).toBe(false);
    for (const one of all.slice(0, 40)) open.take(marker(one));
    expect(counts(open)).toEqual({ PARSE: 480, DECRYPT: 480, oldestAt: all[40]?.timestamp });
    expect(open.mustReadAgain).toBe(false);
    for (const one of all.slice(40, 60)) open.take(marker(one));
    counts(open);
    expect(open.mustReadAgain).toBe(true);
  });

  it('does not fill up with what is done', () => {
    const open = new OpenDeadLetters(100);
    for (let n = 0; n < 1_000; n++) {
      const one = delivery(`e${n}`);
      open.take(one);
      open.take(marker(one));
    }
    const last = delivery('last');
    open.take(last);
    expect(counts(open)).toEqual({ DECRYPT: 1, oldestAt: last.timestamp });
    expect(open.mustReadAgain).toBe(false);
  });
});
