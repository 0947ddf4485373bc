import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LAST_PLACE, Pacer } from '../../../src/ingress/bodies/pacer.ts';

const PIECE = 64 * 1024;

let read: Map<string, number>;
let pacer: Pacer;

beforeEach(() => {
  vi.useFakeTimers();
  read = new Map();
  pacer = new Pacer();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A sender that has all its pieces ready, or none until `pieces` are given. */
function createReader(name: string, place = pacer.nextPlace()) {
  let ready = 0;
  let paused = false;
  const flow = () => {
    paused = false;
    while (ready > 0 && !paused) {
      ready--;
      read.set(name, (read.get(name) ?? 0) + PIECE);
      paused = !pacer.take(PIECE, place, flow);
    }
  };
  return {
    send(pieces: number) {
      ready += pieces;
      if (!paused) flow();
    },
  };
}

const MANY = 100_000;
const readOf = (name: string) => read.get(name) ?? 0;

it('lets 128 MiB a second through, and not much of it at once', async () => {
  createReader('one').send(MANY);
  expect(readOf('one')).toBe(4 * PIECE);
  await vi.advanceTimersByTimeAsync(1);
  expect(readOf('one')).toBeLessThanOrEqual(7 * PIECE);
  await vi.advanceTimersByTimeAsync(999);
  expect(readOf('one') / 1024 ** 2).toBeCloseTo(128, 0);
});

it('earns no more than a moment, however long nobody reads', async () => {
  const one = createReader('one');
  one.send(8);
  await vi.advanceTimersByTimeAsync(10_000);
  one.send(MANY);
  await vi.advanceTimersByTimeAsync(100);
  expect(readOf('one') / 1024 ** 2).toBeLessThan(0.5 + 12.8 + 2.6);
});

it('makes up for turns that come late, and takes no more in any of them', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  pacer = new Pacer();
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

it('reads what is thrown away behind all others', async () => {
  createReader('refused', LAST_PLACE).send(MANY);
  createReader('wanted').send(800);
  await vi.advanceTimersByTimeAsync(400);
  expect(readOf('wanted')).toBe(800 * PIECE);
  await vi.advanceTimersByTimeAsync(400);
  expect(readOf('refused')).toBeGreaterThan(700 * PIECE);
});
