import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedQueue } from '../../../src/kafka/consume/keyed-queue.ts';
import { until } from '../../support/until.ts';

/** Works that end when told, by name. */
function open(places: number, topics = ['t']) {
  const queue = new KeyedQueue(places, topics);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const putOf = (topic: string, name: string, ...keys: string[]) =>
    queue.run({ topic, keys }, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const put = (name: string, ...keys: string[]) => putOf('t', name, ...keys);
  const end = async (name: string) => {
    await until(`${name} has begun`, () => ends.has(name));
    ends.get(name)?.();
  };
  const rest = () => new Promise((resolve) => setImmediate(resolve));
  return { begun, put, putOf, end, rest };
}

describe('works that share a key', () => {
  it('keep their order, and stand in nobody else’s way', async () => {
    const { begun, put, end, rest } = open(10);
    const a1 = put('a1', 'a');
    const a2 = put('a2', 'a');
    const b1 = put('b1', 'b');
    await rest();
    expect(begun).toEqual(['a1', 'b1']);
    await end('a1');
    await a1;
    await end('a2');
    await end('b1');
    await Promise.all([a2, b1]);
    expect(begun).toEqual(['a1', 'b1', 'a2']);
  });

  it('may share several: a work waits for all of them', async () => {
    const { begun, put, end, rest } = open(10);
    const all = [put('a', 'ref a'), put('b', 'ref b'), put('both', 'ref a', 'ref b'), put('b2', 'ref b')];
    await end('a');
    await rest();
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    await end('both');
    await end('b2');
    await Promise.all(all);
    expect(begun).toEqual(['a', 'b', 'both', 'b2']);
  });

  it('take no place while they wait; no more run at once than there are places', async () => {
    const { begun, put, end, rest } = open(2);
    const all = [put('a1', 'a'), put('a2', 'a'), put('b', 'b'), put('c', 'c')];
    await rest();
    expect(begun).toEqual(['a1', 'b']);
    await end('b');
    await until('c has begun', () => begun.includes('c'));
    for (const name of ['a1', 'c', 'a2']) await end(name);
    await Promise.all(all);
  });
});

describe('topics', () => {
  it('leave a place to each that has nothing running', async () => {
    const { begun, putOf, rest } = open(4, ['flood', 'idle', 'other']);
    for (let n = 0; n < 10; n++) void putOf('flood', `flood ${n}`, `f${n}`);
    await rest();
    expect(begun).toEqual(['flood 0', 'flood 1']);
    void putOf('idle', 'idle 0', 'i0');
    void putOf('idle', 'idle 1', 'i1');
    await rest();
    expect(begun).toEqual(['flood 0', 'flood 1', 'idle 0']);
  });

  it('that are more than the places have one each all the same', async () => {
    const { begun, putOf, rest } = open(2, ['a', 'b', 'c']);
    for (const topic of ['a', 'b', 'c'])
      for (const n of [0, 1]) void putOf(topic, `${topic}${n}`, `${topic}${n}`);
    await rest();
    expect(begun).toEqual(['a0', 'b0', 'c0']);
  });

  it('take turns: what is free goes to the one that has the fewest', async () => {
    const { begun, putOf, end, rest } = open(4, ['a', 'b']);
    for (let n = 0; n < 9; n++) void putOf('a', `a${n}`, `a${n}`);
    for (let n = 0; n < 9; n++) void putOf('b', `b${n}`, `b${n}`);
    await rest();
    expect(begun).toEqual(['a0', 'a1', 'a2', 'b0']);
    await end('a0');
    await until('another has begun', () => begun.length === 5);
    await end('a1');
    await until('another has begun', () => begun.length === 6);
    expect(begun.slice(4)).toEqual(['b1', 'a3']);
  });

  it('do not wait behind what waits in another one under the same key, only for what runs', async () => {
    const { begun, putOf, end, rest } = open(4, ['flood', 'owner']);
    for (const n of [0, 1, 2, 3]) void putOf('flood', `flood ${n}`, 'ref a');
    void putOf('owner', 'owner', 'ref a');
    await rest();
    expect(begun).toEqual(['flood 0']);
    await end('flood 0');
    await until('the next has begun', () => begun.length === 2);
    expect(begun).toEqual(['flood 0', 'owner']);
    await end('owner');
    for (const n of [1, 2, 3]) await end(`flood ${n}`);
  });

  it('of any works never run two of a key at once, nor more than the places, and each work once', async () => {
    const work = fc.record({
      topic: fc.constantFrom('a', 'b', 'c'),
      keys: fc.array(fc.constantFrom('1', '2', '3', '4'), { maxLength: 3 }),
      ticks: fc.nat(3),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(work, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        async (works, places) => {
          const queue = new KeyedQueue(places, ['a', 'b', 'c']);
          const busy = new Set<string>();
          const done: number[] = [];
          let running = 0;
          await Promise.all(
            works.map(({ topic, keys, ticks }, n) =>
              queue.run({ topic, keys }, async () => {
                expect(++running).toBeLessThanOrEqual(Math.max(places, 3));
                const mine = [...new Set(keys)];
                for (const key of mine) expect(busy.has(key)).toBe(false);
                for (const key of mine) busy.add(key);
                for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
                for (const key of mine) busy.delete(key);
                running--;
                done.push(n);
              }),
            ),
          );
          expect(done.toSorted((a, b) => a - b)).toEqual(works.map((_, n) => n));
          const orderOf = (topic: string, key: string) =>
            done.filter((n) => works[n]?.topic === topic && works[n]?.keys.some((one) => one === key));
          for (const topic of ['a', 'b', 'c'])
            for (const key of ['1', '2', '3', '4'])
              expect(orderOf(topic, key)).toEqual(orderOf(topic, key).toSorted((a, b) => a - b));
        },
      ),
    );
  });
});
