import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadLetterIndex } from '../../src/dead-letters/dead-letters.ts';
import { OpenDeadLetters } from '../../src/dead-letters/open-dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';

let offset = 0n;
const record = (headers: Record<string, string>, timestamp = Number(offset)) => ({
  partition: 0,
  offset: offset++,
  timestamp,
  headers,
  key: null as Buffer | null,
});
const delivery = (eventId: string, stage = 'DECRYPT', more: Record<string, string> = {}) =>
  record({ [NAMES.stage]: stage, [NAMES.eventId]: eventId, [NAMES.receivedAt]: '900', ...more });
const marker = (of: { offset: bigint }, name: string = NAMES.dismissalOf) =>
  record({ [name]: `0:${of.offset}` });

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const NOTHING_GONE = new Map<number, bigint>();
const counts = (open: OpenDeadLetters, oldest = NOTHING_GONE) => {
  const { byStage, oldestAt } = open.count(oldest);
  return { ...Object.fromEntries([...byStage].filter(([, count]) => count > 0)), oldestAt };
};

type Taken = ReturnType<typeof record>;

/** A topic that is followed as control follows it: from where it was read to, and again from where it has to be. */
class Log {
  readonly records: Taken[] = [];
  readonly #open: OpenDeadLetters;
  #next = 0n;

  constructor(max: number) {
    this.#open = new OpenDeadLetters(max);
  }

  append(one: Taken): Taken {
    this.records.push(one);
    return one;
  }

  count(): ReturnType<typeof counts> {
    for (let n = 0; n < 1_000; n++) {
      for (const one of this.records.filter(({ offset }) => offset >= this.#next)) this.#open.take(one);
      this.#next = (this.records.at(-1)?.offset ?? -1n) + 1n;
      const counted = counts(this.#open);
      if (!this.#open.mustReadAgain) return counted;
      this.#next = this.#open.readAgain().get(0) ?? this.#next;
    }
    return expect.fail('it reads again without end');
  }
}

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
    const redriven = delivery('a');
    const dismissed = delivery('b');
    const kept = delivery('c');
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
    const old = delivery('a');
    const young = delivery('b', 'PARSE');
    open.take(old);
    open.take(young);
    expect(counts(open, new Map([[0, young.offset]]))).toEqual({ PARSE: 1, oldestAt: young.timestamp });
  });

  it('is not changed by a marker of another event, as where the topic was copied and its offsets have shifted', () => {
    const keyed = (one: Taken, key: string) => ({ ...one, key: Buffer.from(key) });
    const long = 'x'.repeat(100);
    for (const key of ['a', long]) {
      const open = new OpenDeadLetters();
      const first = keyed(delivery(key), key);
      open.take(first);
      open.take(keyed(marker(first), `${key}y`));
      expect(counts(open)).toEqual({ DECRYPT: 1, oldestAt: first.timestamp });
      open.take(keyed(marker(first), key));
      expect(counts(open)).toEqual({ oldestAt: null });
    }
  });

  it('joins a copy that the drain of a spool wrote after the redrive: it is not open again', () => {
    const open = new OpenDeadLetters();
    const first = delivery('a');
    for (const one of [first, marker(first), delivery('a')]) open.take(one);
    expect(counts(open)).toEqual({ oldestAt: null });
  });

  it('holds no more than it may: the oldest, and of the others who is done, until there is room', () => {
    const open = new OpenDeadLetters(100);
    const all = Array.from({ length: 1_000 }, (_, n) => delivery(`e${n}`, n % 2 ? 'PARSE' : 'DECRYPT'));
    for (const one of all) open.take(one);
    expect(counts(open)).toEqual({ PARSE: 500, DECRYPT: 500, oldestAt: all[0]?.timestamp });
    expect(open.mustReadAgain).toBe(false);
    for (const one of all.slice(0, 40)) open.take(marker(one));
    expect(counts(open)).toEqual({ PARSE: 480, DECRYPT: 480, oldestAt: all[40]?.timestamp });
    expect(open.mustReadAgain).toBe(false);
    // Some that it does not hold.
    for (const one of all.slice(900)) open.take(marker(one));
    expect(counts(open)).toEqual({ PARSE: 430, DECRYPT: 430, oldestAt: all[40]?.timestamp });
    for (const one of all.slice(40, 60)) open.take(marker(one));
    expect(counts(open)).toMatchObject({ PARSE: 420, DECRYPT: 420 });
    expect(open.mustReadAgain).toBe(true);
    const [[partition, from] = []] = open.readAgain();
    expect([partition, from]).toEqual([0, all[100]?.offset]);
  });

  it('knows the oldest also where it is in a partition of which it holds nothing', () => {
    const open = new OpenDeadLetters(100);
    for (let n = 0; n < 200; n++) open.take({ ...delivery(`young${n}`), timestamp: 1_000_000 + n });
    const old = Array.from({ length: 50 }, (_, n) => ({
      ...delivery(`old${n}`),
      partition: 1,
      timestamp: 1_000 + n,
    }));
    for (const one of old) open.take(one);
    expect(counts(open)).toEqual({ DECRYPT: 250, oldestAt: 1_000 });
    for (const { offset } of old) open.take(record({ [NAMES.dismissalOf]: `1:${offset}` }));
    expect(counts(open)).toEqual({ DECRYPT: 200, oldestAt: 1_000_000 });
  });

  it('is none after all were dismissed, however many there were', () => {
    const log = new Log(100);
    const all = Array.from({ length: 1_000 }, (_, n) => log.append(delivery(`e${n}`)));
    for (const one of all) log.append(marker(one));
    expect(log.count()).toEqual({ oldestAt: null });
    // A copy, which the drain of a spool writes late, is dismissed too.
    log.append(delivery('e3'));
    log.append(delivery('e990'));
    expect(log.count()).toEqual({ oldestAt: null });
  });

  it('agrees with an index of everything, whatever is dismissed in which order', () => {
    const step = fc.record({ append: fc.nat(40), dismiss: fc.array(fc.nat(200), { maxLength: 60 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 15 }), (steps) => {
        const log = new Log(20);
        const open: Taken[] = [];
        for (const { append, dismiss } of steps) {
          for (let n = 0; n < append; n++) {
            const id = `${log.records.length}`;
            open.push(log.append(delivery(id, ['DECRYPT', 'PARSE', 'ENCODE'][n % 3])));
          }
          for (const one of dismiss) {
            const [gone] = one < open.length ? open.splice(one, 1) : [];
            if (gone) log.append(marker(gone));
          }
          const index = new DeadLetterIndex();
          for (const one of log.records) index.take({ ...one, key: null, bytes: 0 });
          const truth = Map.groupBy(index.unresolved(), ({ headers }) => headers[NAMES.stage]);
          const { oldestAt, ...byStage } = log.count();
          expect(byStage).toEqual(Object.fromEntries([...truth].map(([stage, all]) => [stage, all.length])));
          expect(oldestAt).toBe(index.unresolved().length === 0 ? null : open[0]?.timestamp);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keeps nothing of headers that only somebody else writes: long ones, and markers of millions of records', () => {
    const open = new OpenDeadLetters();
    const one = delivery('a');
    open.take(one);
    open.take(record({ [NAMES.stage]: 'x'.repeat(1_000_000), [NAMES.eventId]: 'b' }));
    open.take(record({ [NAMES.stage]: 'PARSE', [NAMES.eventId]: 'c'.repeat(1_000_000) }));
    const positions = Array.from({ length: 200_000 }, (_, n) => `0:${n}`).join(',');
    open.take(record({ [NAMES.redriveOf]: positions }));
    // A marker that is cut off is none, and counts as somebody else's record.
    expect(counts(open)).toEqual({ DECRYPT: 1, PARSE: 1, FOREIGN: 2, oldestAt: one.timestamp });
  });

  it.each([
    [
      'records with headers of 1,000 characters',
      Object.values(NAMES).filter((name) => name !== NAMES.redriveOf && name !== NAMES.dismissalOf),
      (n: number, name: string) => `${n}-${name}-`.padEnd(1_000, 'x'),
    ],
    [
      'markers of 1,000 characters',
      [NAMES.redriveOf],
      (n: number) => `0:${10 ** 12 + n},`.padEnd(1_000, 'x'),
    ],
  ])('takes no more memory of %s than of others', (_, names, text) => {
    const open = new OpenDeadLetters();
    const before = heapBytes();
    for (let n = 0; n < 5_000; n++)
      // As a client decodes them: no text shares its memory with another.
      open.take(
        record(Object.fromEntries(names.map((name) => [name, Buffer.from(text(n, name)).toString()]))),
      );
    expect((heapBytes() - before) / 5_000).toBeLessThan(1_000);
    expect(open.count(NOTHING_GONE).byStage.get('FOREIGN')).toBe(names.length > 1 ? 5_000 : 0);
  });

  it('tells deliveries with long ids apart, and joins their copies', () => {
    const open = new OpenDeadLetters();
    const long = 'a'.repeat(500);
    const other = `${'a'.repeat(499)}b`;
    const first = delivery(long);
    for (const one of [first, delivery(long), delivery(other), marker(first)]) open.take(one);
    expect(counts(open)).toMatchObject({ DECRYPT: 1 });
  });

  it.each([10, 50_000])(
    'has no attempt whose whole repeat was redriven, where it holds %i records',
    (max) => {
      const open = new OpenDeadLetters(max);
      const part = (number: number, receivedAt: string) => {
        const one = delivery('a', 'PARSE', { [NAMES.part]: `${number}`, [NAMES.parts]: '2' });
        return { ...one, headers: { ...one.headers, [NAMES.receivedAt]: receivedAt } };
      };
      const [left, ...whole] = [part(1, '1'), part(1, '2'), part(2, '2')] as const;
      for (const one of [left, ...whole, marker(whole[0], NAMES.redriveOf)]) open.take(one);
      for (let n = 0; n < 12; n++) {
        const one = delivery(`e${n}`);
        open.take(one);
        open.take(marker(one));
      }
      expect(counts(open)).toEqual({ oldestAt: null });
    },
  );

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
