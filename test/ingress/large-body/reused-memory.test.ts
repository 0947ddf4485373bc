import { expect, it } from 'vitest';
import { AvroWriter } from '../../../src/avro/avro-writer.ts';
import { ReusedMemory } from '../../../src/ingress/large-body/reused-memory.ts';

const LARGE = 2 * Buffer.poolSize;

it('gives what was given back, the smallest that is large enough, and to one at a time', () => {
  const memory = new ReusedMemory();
  const small = memory.take(LARGE);
  const large = memory.take(2 * LARGE);
  memory.give(large.subarray(0, 3));
  memory.give(small);
  expect(memory.take(LARGE - 1).buffer).toBe(small.buffer);
  expect(memory.take(LARGE).buffer).toBe(large.buffer);
  const fresh = memory.take(LARGE);
  expect([small.buffer, large.buffer]).not.toContain(fresh.buffer);
});

it('keeps the two largest, and gives the memory of others back at once', () => {
  const memory = new ReusedMemory();
  const taken = [3, 1, 2].map((times) => memory.take(times * LARGE));
  for (const one of taken) memory.give(one);
  expect(taken.map(({ length }) => length / LARGE)).toEqual([3, 0, 2]);
});

it('keeps nothing that it did not hand out: a pooled buffer has neighbours', () => {
  const memory = new ReusedMemory();
  const neighbour = Buffer.from('somebody else’s');
  const pooled = Buffer.concat([Buffer.from('a small message')]);
  expect(pooled.buffer).toBe(neighbour.buffer);
  memory.give(pooled);
  memory.take(Buffer.poolSize).fill(0);
  expect(neighbour.toString()).toBe('somebody else’s');
});

it('keeps no piece twice, though it is given back twice', () => {
  const memory = new ReusedMemory();
  const piece = memory.take(LARGE);
  memory.give(piece);
  memory.give(piece);
  expect(memory.take(LARGE).buffer).not.toBe(memory.take(LARGE).buffer);
});

it('gives all that it kept back at once, but for what an upload may still read', () => {
  const memory = new ReusedMemory();
  const idle = memory.take(LARGE);
  const read = memory.take(LARGE);
  memory.give(idle);
  memory.give(read, { mayBeRead: true });
  memory.clear();
  expect([idle.length, read.length]).toEqual([0, LARGE]);
  expect(memory.take(LARGE).buffer).not.toBe(read.buffer);
});

it('uses what an upload may still read again, and never gives it back itself', () => {
  const memory = new ReusedMemory();
  const read = memory.take(LARGE);
  memory.give(read, { mayBeRead: true });
  expect(memory.take(LARGE).buffer).toBe(read.buffer);
  memory.give(read);
  for (const more of [2, 3].map((times) => memory.take(times * LARGE))) memory.give(more);
  expect(read.length).toBe(LARGE);
});

it.each([
  [false, 0],
  [true, 100_000],
])(
  'has what a writer outgrows given back at once, unless an upload may still read it: %s',
  (mayBeRead, length) => {
    const memory = new ReusedMemory();
    const taken = memory.take(100_000);
    memory.give(taken, { mayBeRead });
    const writer = new AvroWriter(100_000 - 2 * memory.headroom, memory);
    writer.zeros(200_000);
    expect(taken.buffer.byteLength).toBe(length);
    expect(writer.end().length).toBe(200_000);
  },
);
