import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LAST_TICKET, Throttle, type Ticket } from '../../../src/ingress/body/throttle.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const PIECE = 64 * 1024;
const PACE = 128 * 1024 ** 2;
const BESIDE = 16 * 1024 ** 2;
const MANY = 100_000;

let read: Map<string, number>;
let throttle: Throttle;

beforeEach(() => {
  vi.useFakeTimers();
  read = new Map();
  throttle = new Throttle({ beside: BESIDE, alone: PACE }, systemClock);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A sender that has all its pieces ready, or none until `pieces` are given. */
function createReader(name: string, place: Ticket = throttle.nextTicket(MANY * PIECE)) {
  let ready = 0;
  let paused = false;
  const flow = () => {
    paused = false;
    while (ready > 0 && !paused) {
      ready--;
      read.set(name, (read.get(name) ?? 0) + PIECE);
      paused = !throttle.consume(PIECE, place, flow);
    }
  };
  return {
    send(pieces: number) {
      ready += pieces;
      if (!paused) flow();
    },
  };
}

const readOf = (name: string) => read.get(name) ?? 0;

it('lets as much through in a second as it is told, and not much of it at once', async () => {
  createReader('one').send(MANY);
  expect(readOf('one')).toBe(4 * PIECE);
  await vi.advanceTimersByTimeAsync(1);
  expect(readOf('one')).toBeLessThanOrEqual(7 * PIECE);
  await vi.advanceTimersByTimeAsync(999);
  expect(readOf('one') / 1024 ** 2).toBeCloseTo(128, 0);
});

it('gives way within a turn while small bodies come, and 100 ms after the last one goes on as before', async () => {
  createReader('one').send(MANY);
  await vi.advanceTimersByTimeAsync(1_000);
  const alone = readOf('one');
  for (let n = 0; n < 500; n++) {
    throttle.smallCame();
    await vi.advanceTimersByTimeAsync(2);
  }
  const beside = readOf('one') - alone;
  expect(beside / 1024 ** 2).toBeGreaterThan(15);
  // What is saved for turns that come late.
  expect(beside / 1024 ** 2).toBeLessThan(16 + 2.6);
  await vi.advanceTimersByTimeAsync(100);
  const quiet = readOf('one');
  await vi.advanceTimersByTimeAsync(1_000);
  expect((readOf('one') - quiet) / 1024 ** 2).toBeGreaterThan(125);
});

it('earns no more than a moment, however long nobody reads', async () => {
  const one = createReader('one');
  one.send(8);
  await vi.advanceTimersByTimeAsync(10_000);
  one.send(MANY);
  await vi.advanceTimersByTimeAsync(100);
  expect(readOf('one') / 1024 ** 2).toBeLessThan(0.5 + 12.8 + 2.6);
});

it('owes no more than a turn for what comes unasked: the first pieces of thousands', async () => {
  for (let n = 0; n < 2_000; n++) throttle.consume(PIECE, throttle.nextTicket(1024 ** 2), () => {});
  createReader('proven', throttle.nextTicket(16 * PIECE, 'proven')).send(16);
  await vi.advanceTimersByTimeAsync(20);
  expect(readOf('proven')).toBe(16 * PIECE);
});

it('makes up for turns that come late, and takes no more in any of them', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  throttle = new Throttle({ beside: BESIDE, alone: PACE }, systemClock);
  createReader('one').send(MANY);
  for (let n = 0; n < 500; n++) {
    // Every fifth turn waits for a loop that is busy.
    now += n % 5 === 0 ? 4 : 1;
    const before = readOf('one');
    await vi.advanceTimersByTimeAsync(1);
    expect(readOf('one') - before).toBeLessThanOrEqual(5 * PIECE);
  }
  expect(readOf('one') / 1024 ** 2 / (now / 1_000)).toBeCloseTo(128, 0);
});

it('reads the body that came first to its end before the next', async () => {
  const first = createReader('first');
  const second = createReader('second');
  second.send(MANY);
  first.send(800);
  await vi.advanceTimersByTimeAsync(400);
  expect(readOf('first')).toBe(800 * PIECE);
  expect(readOf('second')).toBeLessThan(30 * PIECE);
  await vi.advanceTimersByTimeAsync(400);
  expect(readOf('second')).toBeGreaterThan(700 * PIECE);
});

it('leaves to others what the first one has nothing to read for', async () => {
  const first = createReader('first');
  const second = createReader('second');
  first.send(8);
  second.send(MANY);
  await vi.advanceTimersByTimeAsync(1_000);
  expect((readOf('first') + readOf('second')) / 1024 ** 2).toBeCloseTo(128, 0);
  first.send(8);
  await vi.advanceTimersByTimeAsync(10);
  expect(readOf('first')).toBe(16 * PIECE);
});

it('reads a small body in its fair turn, before many large ones that came first', async () => {
  for (let n = 0; n < 20; n++) createReader(`large ${n}`, throttle.nextTicket(800 * PIECE)).send(800);
  await vi.advanceTimersByTimeAsync(1_000);
  createReader('small', throttle.nextTicket(32 * PIECE)).send(32);
  await vi.advanceTimersByTimeAsync(100);
  expect(readOf('small')).toBe(32 * PIECE);
});

it('reads what comes over proven connections first, but not for ever', async () => {
  createReader('unproved', throttle.nextTicket(80 * PIECE)).send(80);
  const ended = { tag: 0, n: 0, cost: 0 };
  let n = 0;
  const more = () => createReader(`proven ${n++}`, throttle.nextTicket(80 * PIECE, 'proven')).send(80);
  for (; n < 3; ) more();
  await vi.advanceTimersByTimeAsync(120);
  expect([readOf('proven 0'), readOf('proven 2')]).toEqual([80 * PIECE, 80 * PIECE]);
  expect(readOf('unproved')).toBeLessThan(80 * PIECE);
  // Another comes whenever one has ended: each of them is owed its part of what was read since.
  for (let round = 0; round < 100; round++) {
    throttle.endTicket(ended);
    more();
    await vi.advanceTimersByTimeAsync(40);
  }
  expect(readOf('unproved')).toBe(80 * PIECE);
});

it('reads what comes over connections with wrong signatures behind others, but not never', async () => {
  let n = 0;
  const refuted = () => createReader(`refuted ${n++}`, throttle.nextTicket(16 * PIECE, 'refuted')).send(16);
  for (; n < 48; ) refuted();
  createReader('unknown', throttle.nextTicket(32 * PIECE)).send(32);
  await vi.advanceTimersByTimeAsync(60);
  expect(readOf('unknown')).toBe(32 * PIECE);
  // Others come without end.
  const ended = { tag: 0, n: 0, cost: 0 };
  for (let round = 0; readOf('refuted 47') < 16 * PIECE && round < 1_000; round++) {
    createReader(`unknown ${round}`, throttle.nextTicket(16 * PIECE)).send(16);
    throttle.endTicket(ended);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(readOf('refuted 47')).toBe(16 * PIECE);
});

it('reads the longest body on a proven connection before the shortest large ones on others', async () => {
  for (let n = 0; n < 10; n++) createReader(`stranger ${n}`, throttle.nextTicket(1024 ** 2 + 1)).send(17);
  createReader('proven', throttle.nextTicket(800 * PIECE, 'proven')).send(800);
  await vi.advanceTimersByTimeAsync(410);
  expect(readOf('proven')).toBe(800 * PIECE);
});

it('counts a turn in which nothing came: bodies that begin and stop do not come first for ever', async () => {
  const here = new AbortController().signal;
  const stops = () => {
    const ticket = throttle.nextTicket(16 * PIECE);
    void throttle.firstTurn(ticket, here).then(() => throttle.endTicket(ticket));
  };
  for (let n = 0; n < 20; n++) stops();
  createReader('longer', throttle.nextTicket(32 * PIECE)).send(32);
  for (let n = 0; n < 500; n++) {
    stops();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(readOf('longer')).toBe(32 * PIECE);
});

it('ends the last in line where too many wait', () => {
  const dropped: string[] = [];
  const wait = (name: string, place: Ticket, isDropped = true) =>
    throttle.consume(PIECE, place, () => {}, isDropped ? () => dropped.push(name) : undefined);
  // What this turn has left.
  for (let n = 0; n < 3; n++) wait('read', throttle.nextTicket(PIECE));
  wait('a large one with memory of its own', { ...LAST_TICKET, n: 1 }, false);
  for (let n = 0; n < 2_045; n++) wait(`unknown ${n}`, throttle.nextTicket(PIECE));
  wait('refuted', throttle.nextTicket(PIECE, 'refuted'));
  wait('discarded', LAST_TICKET);
  expect(dropped).toEqual([]);
  for (let n = 0; n < 3; n++) wait(`first ${n}`, throttle.nextTicket(1));
  expect(dropped).toEqual(['discarded', 'refuted', 'unknown 2044']);
});

it('reads what is discarded behind all others', async () => {
  createReader('refused', LAST_TICKET).send(MANY);
  createReader('wanted').send(800);
  await vi.advanceTimersByTimeAsync(400);
  expect(readOf('wanted')).toBe(800 * PIECE);
  await vi.advanceTimersByTimeAsync(400);
  expect(readOf('refused')).toBeGreaterThan(700 * PIECE);
});

it('reads what is still there as fast as turns come, when the process stops', async () => {
  createReader('one').send(MANY);
  throttle.disable();
  await vi.advanceTimersByTimeAsync(500);
  expect(readOf('one') / 1024 ** 2).toBeCloseTo(125, -1);
});

describe('the first turn of a body', () => {
  const firstTurn = (name: string, gone = new AbortController().signal) => {
    const place = throttle.nextTicket(800 * PIECE);
    return throttle.firstTurn(place, gone).then(() => createReader(name, place).send(800));
  };

  it('comes when those before it leave something: they are begun one after the other', async () => {
    for (const name of ['first', 'second', 'third']) void firstTurn(name);
    await vi.advanceTimersByTimeAsync(350);
    expect([readOf('first') > 650 * PIECE, readOf('second'), readOf('third')]).toEqual([true, 0, 0]);
    await vi.advanceTimersByTimeAsync(400);
    expect([readOf('first'), readOf('second') > 600 * PIECE, readOf('third')]).toEqual([
      800 * PIECE,
      true,
      0,
    ]);
  });

  it('is left to the next one by a body whose sender has gone', async () => {
    createReader('first').send(800);
    const gone = new AbortController();
    const left = expect(firstTurn('gone', gone.signal)).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
    void firstTurn('next');
    gone.abort();
    await left;
    await vi.advanceTimersByTimeAsync(800);
    expect([readOf('gone'), readOf('next') > 700 * PIECE]).toEqual([0, true]);
  });

  it('is not kept for thousands of bodies that are read no more', async () => {
    createReader('first').send(4);
    for (let n = 0; n < 2_000; n++) {
      const ticket = throttle.nextTicket(PIECE);
      throttle.consume(PIECE, ticket, () => {});
      throttle.endTicket(ticket);
    }
    void firstTurn('next');
    await vi.advanceTimersByTimeAsync(10);
    expect(readOf('next')).toBeGreaterThan(0);
  });
});
