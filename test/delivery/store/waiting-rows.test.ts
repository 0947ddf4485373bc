import { beforeEach, describe, expect, it } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import type { WaitingRow } from '../../../src/delivery/store/waiting-key.ts';
import { type NextRows, WaitingRows } from '../../../src/delivery/store/waiting-rows.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const refusal = new HooklineError('BODY_STORE_REFUSED', 'too large');
const small = (id: number, bytes = 100): WaitingRow => ({ id, bytes, isLarge: false });
const large = (id: number): WaitingRow => ({ id, bytes: 2_000_000, isLarge: true });

let clock: ManualClock;
let state: {
  trouble: string | null;
  refusal: HooklineError | null;
  isMessageAwaited: boolean;
  probes: number;
  probe(): void;
};
let told: string[];
let rows: WaitingRows;
beforeEach(() => {
  clock = manualClock();
  state = {
    trouble: null,
    refusal: null,
    isMessageAwaited: false,
    probes: 0,
    probe: () => void state.probes++,
  };
  told = [];
  rows = new WaitingRows(state, clock, {
    held: (order) => told.push(`held ${order}`),
    refused: (error) => told.push(error.code),
  });
});

const next = (limits: Partial<NextRows> = {}) =>
  rows
    .next({
      maxRows: 100,
      maxBytes: 1_000,
      withLarge: true,
      tried: new Set<number>(),
      upTo: 1_000,
      ...limits,
    })
    .map(({ id }) => id);
/** Tries a row, which the store does not take. */
const failAgain = (row: WaitingRow, order: string) => {
  rows.begin(row);
  rows.addRefused(row, order, refusal);
};

describe('a row that the store refuses', () => {
  it('is due after 1, 2, 4 … and at most 40 s, and reported once', async () => {
    rows.addRefused(small(1), 'a', refusal);
    for (const pause of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 40_000, 40_000]) {
      await clock.advance(pause - 1);
      expect(next()).toEqual([]);
      await clock.advance(1);
      expect(next()).toEqual([1]);
      failAgain(small(1), 'a');
    }
    expect(told).toEqual(['held a', 'BODY_STORE_REFUSED']);
  });

  it('makes others wait for a second, however many are due', async () => {
    for (const id of [1, 2, 3]) rows.addRefused(small(id), `${id}`, refusal);
    await clock.advance(1_000);
    expect(next()).toEqual([1, 2, 3]);
    failAgain(small(1), '1');
    expect(next()).toEqual([]);
    await clock.advance(1_000);
    expect(next()).toEqual([2, 3]);
  });
});

describe('rows of a key', () => {
  beforeEach(async () => {
    rows.addRefused(small(1), 'a', refusal);
    for (const row of [small(5), small(3), large(4)]) rows.add(row, 'a');
    await clock.advance(1_000);
  });

  it('are not tried before their last try has ended, nor those behind them', () => {
    expect(next({ tried: new Set([1]) })).toEqual([]);
    rows.begin(small(1));
    rows.end(small(1), true);
    rows.add(small(2), 'a');
    expect(next({ tried: new Set([3]) })).toEqual([2]);
  });

  it('are not tried while rows before them are read again', () => {
    expect(next({ upTo: 0 })).toEqual([]);
    expect(next({ upTo: 1 })).toEqual([1]);
    rows.begin(small(1));
    rows.end(small(1), true);
    rows.add(small(2), 'a');
    expect(next({ upTo: 2 })).toEqual([2]);
  });

  it('follow in their order when the first is stored, a large one when those before it are', () => {
    expect(next()).toEqual([1]);
    rows.begin(small(1));
    expect(next()).toEqual([]);
    rows.end(small(1), true);
    expect(next()).toEqual([3]);
    rows.begin(small(3));
    expect([rows.mustWait(3, 'a'), rows.mustWait(6, 'a'), rows.mustWait(6, 'b')]).toEqual([
      false,
      true,
      false,
    ]);
    expect(next()).toEqual([]);
    rows.end(small(3), true);
    expect(next({ withLarge: false })).toEqual([]);
    expect(next()).toEqual([4]);
    rows.begin(large(4));
    rows.end(large(4), true);
    rows.begin(small(5));
    expect([rows.size, rows.orders.has('a')]).toEqual([0, true]);
    rows.end(small(5), true);
    expect(rows.orders.has('a')).toBe(false);
  });

  it('wait again, with those that were on their way, when one of them is refused', () => {
    rows.begin(small(1));
    rows.end(small(1), true);
    rows.add(small(2), 'a');
    for (const id of [2, 3]) rows.begin(small(id));
    rows.addRefused(small(2), 'a', refusal);
    expect(rows.mustWait(3, 'a')).toBe(true);
    rows.add(small(3), 'a');
    expect(next()).toEqual([]);
    expect(rows.size).toBe(4);
  });

  it('are not sent because one ends that was on its way when the first was refused', async () => {
    rows.begin(small(1));
    rows.end(small(1), true);
    rows.add(small(2), 'a');
    for (const id of [2, 3]) rows.begin(small(id));
    rows.addRefused(small(2), 'a', refusal);
    await clock.advance(2_000);
    expect(next()).toEqual([2]);
    rows.begin(small(2));
    rows.end(small(3), true);
    rows.forget(4);
    rows.add(small(5), 'a');
    expect(next()).toEqual([]);
    rows.end(small(2), true);
    expect(next()).toEqual([5]);
  });

  it('wait again when the topic takes no records, or the store would not be tried', async () => {
    // However often: it is not the store that refuses it.
    for (let n = 0; n < 8; n++) {
      rows.begin(small(1));
      rows.end(small(1), false);
      expect(next()).toEqual([]);
      await clock.advance(1_000);
      expect(next()).toEqual([1]);
    }
    rows.begin(small(1));
    rows.add(small(1), 'a');
    expect(next()).toEqual([]);
    await clock.advance(4_000);
    expect(next()).toEqual([1]);
  });

  it('do not wait for one that has become a dead-letter record', () => {
    rows.begin(small(1));
    rows.addRefused(small(1), 'dead-letter', refusal);
    expect(next()).toEqual([3]);
  });
});

describe('while the store takes nothing', () => {
  beforeEach(() => {
    for (const id of [1, 2]) rows.add(small(id), `${id}`);
    state.trouble = 'full';
    state.refusal = refusal;
  });

  it('no row is tried, and the store is checked', () => {
    expect(next()).toEqual([]);
    expect(state.probes).toBe(1);
  });

  it('a single row shows whether it takes messages again, another one each time, a second later', async () => {
    Object.assign(state, { isMessageAwaited: true, refusal: null });
    expect(next()).toEqual([1]);
    rows.begin(small(1));
    expect(next()).toEqual([]);
    rows.addRefused(small(1), '1', refusal);
    expect(next()).toEqual([]);
    await clock.advance(1_000);
    expect(next()).toEqual([2]);
    failAgain(small(2), '2');
    await clock.advance(1_000);
    expect(next()).toEqual([1]);
    expect(told).toEqual(['held 1', 'held 2']);
  });
});

describe('a row that its topic did not take', () => {
  beforeEach(async () => {
    for (const id of [1, 2]) rows.addRefused(small(id), `${id}`, refusal);
    await clock.advance(1_000);
    rows.begin(small(1));
    rows.end(small(1), false);
    state.trouble = 'full';
    state.refusal = refusal;
  });

  it('does not wait for the store', async () => {
    expect(next()).toEqual([]);
    await clock.advance(1_000);
    expect(next()).toEqual([1]);
    rows.begin(small(1));
    rows.addRefused(small(1), '1', refusal);
    await clock.advance(60_000);
    expect(next()).toEqual([]);
  });

  it('is none that shows whether the store takes messages again', async () => {
    Object.assign(state, { isMessageAwaited: true, refusal: null });
    await clock.advance(1_000);
    rows.begin(small(1));
    expect(next()).toEqual([2]);
    rows.begin(small(2));
    rows.add(small(3), '3');
    expect(next()).toEqual([]);
    // Its object is stored: its topic does not matter.
    rows.noteSent(2);
    expect(next()).toEqual([3]);
  });
});

describe('rows whose object takes long', () => {
  beforeEach(() => rows.addUnsent([1, 3], 'a', 'slow'));

  it('hold their key, and are sent in their order', () => {
    expect([told, rows.why, rows.size, rows.count]).toEqual([['held a'], 'slow', 0, 2]);
    expect([1, 3, 2].map((id) => rows.mustWait(id, 'a'))).toEqual([false, false, true]);
    rows.add(small(2), 'a');
    rows.add(large(4), 'a');
    expect([next(), rows.size, rows.count]).toEqual([[], 2, 4]);
    rows.end(small(1), true);
    expect(next()).toEqual([2]);
    rows.begin(small(2));
    expect(next()).toEqual([]);
    for (const id of [2, 3]) rows.end(small(id), true);
    expect(next()).toEqual([4]);
    rows.begin(large(4));
    rows.end(large(4), true);
    expect([rows.count, rows.orders.has('a')]).toEqual([0, false]);
  });

  it('wait with those behind them when the store refuses the first one', async () => {
    rows.addRefused(small(1), 'a', refusal);
    expect(rows.mustWait(3, 'a')).toBe(true);
    rows.add(small(3), 'a');
    expect([next(), rows.count]).toEqual([[], 2]);
    await clock.advance(1_000);
    expect(next()).toEqual([1]);
  });

  it('are not passed by later ones: those begin when they are sent, or stored', () => {
    for (const id of [2, 4, 5]) rows.add(small(id), 'a');
    rows.end(small(1), true);
    expect(next()).toEqual([2]);
    rows.noteSent(3);
    expect(next()).toEqual([2, 4, 5]);
  });

  it('keep their key while they are in progress, though an earlier one is there no more', async () => {
    rows.addRefused(small(5), 'b', refusal);
    rows.addUnsent([6], 'b', 'slow');
    rows.add(small(7), 'b');
    rows.forget(5);
    await clock.advance(60_000);
    // 6 will wait: 7 must not come before it.
    expect([rows.mustWait(6, 'b'), next()]).toEqual([true, []]);
    rows.add(small(6), 'b');
    expect(next()).toEqual([6]);
  });

  it('keep their key also where nothing waits behind them', () => {
    rows.addRefused(small(5), 'b', refusal);
    rows.addUnsent([6], 'b', 'slow');
    rows.forget(5);
    rows.addUnsent([6, 7], 'b', 'slow');
    expect([rows.mustWait(6, 'b'), rows.mustWait(7, 'b')]).toEqual([true, true]);
    for (const id of [6, 7]) rows.end(small(id), true);
    expect(rows.orders.has('b')).toBe(false);
  });

  it('hold the key of the record as which they were tried, and no other', async () => {
    rows.addRefused(small(5), 'b', refusal);
    await clock.advance(1_000);
    rows.begin(small(5));
    rows.addUnsent([5], 'dead-letter', 'slow');
    expect([rows.orders.has('dead-letter'), rows.count]).toEqual([false, 3]);
    rows.end(small(5), true);
    expect([rows.orders.has('b'), rows.count]).toEqual([false, 2]);
  });

  it('of a key of which an earlier one waits are counted, and wait behind it when their object is stored', async () => {
    rows.addRefused(small(5), 'b', refusal);
    rows.addUnsent([6], 'b', 'slow');
    expect([rows.count, rows.mustWait(6, 'b')]).toEqual([4, true]);
    rows.add(small(6), 'b');
    await clock.advance(1_000);
    expect([rows.count, next()]).toEqual([4, [5]]);
  });
});

it('none behind a large row is tried before that is stored, nor a second large row', async () => {
  for (const row of [small(1), large(2), small(3)]) rows.add(row, 'a');
  rows.add(large(9), 'b');
  rows.begin(small(1));
  rows.end(small(1), true);
  expect(next()).toEqual([2]);
  rows.begin(large(2));
  expect(next()).toEqual([]);
  expect(rows.large.has(2)).toBe(true);
  rows.end(large(2), true);
  expect(rows.large.has(2)).toBe(false);
  expect(next()).toEqual([3, 9]);
});

describe('what is taken at once', () => {
  it('is bounded by its bytes, and is one row at least', async () => {
    rows.add(small(1, 600), 'a');
    rows.add(small(2, 600), 'b');
    expect(next()).toEqual([1]);
    expect(next({ maxBytes: 10 })).toEqual([1]);
    expect(next({ maxBytes: 1_200 })).toEqual([1, 2]);
  });

  it('is bounded by its rows, of however many keys', () => {
    for (let id = 1; id <= 5; id++) rows.add(small(id), 'a');
    rows.begin(small(1));
    rows.end(small(1), true);
    rows.addRefused(small(9), 'b', refusal);
    expect(next({ maxRows: 3 })).toEqual([2, 3, 4]);
  });

  it('has one large row beside small ones', () => {
    for (const [n, row] of [large(1), large(2), small(3), small(4)].entries()) rows.add(row, `${n}`);
    expect(next()).toEqual([1, 3, 4]);
    expect(next({ withLarge: false })).toEqual([3, 4]);
  });
});

it('tries no row for a second after a trial that told nothing, as where its topic takes no records', async () => {
  state.trouble = 'it is down';
  state.isMessageAwaited = true;
  rows.addRefused(small(1), 'a', refusal);
  rows.addRefused(small(2), 'b', refusal);
  expect(next()).toEqual([1]);
  rows.begin(small(1));
  rows.end(small(1), false);
  expect(next()).toEqual([]);
  await clock.advance(1_000);
  expect(next()).toEqual([2]);
});

it('finds a row again that ends when its key had no rows left', async () => {
  for (const id of [1, 2]) rows.addRefused(small(id), 'a', refusal);
  await clock.advance(1_000);
  rows.begin(small(1));
  rows.end(small(1), true);
  rows.begin(small(2));
  rows.add(small(3), 'a');
  // 3 ends first, and takes the way back from the whole key.
  rows.begin(small(3));
  rows.end(small(3), false);
  rows.forget(3);
  rows.end(small(2), false);
  await clock.advance(60_000);
  expect(next()).toEqual([2]);
});
