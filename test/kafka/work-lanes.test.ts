import { describe, expect, it } from 'vitest';
import { WorkLanes } from '../../src/kafka/work-lanes.ts';
import { until } from '../support/until.ts';

/** Works that end when told, by name. */
function open(atOnce: number) {
  const lanes = new WorkLanes(atOnce);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const put = (name: string, ...of: string[]) =>
    lanes.run(of, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string) => {
    await until(`${name} has begun`, () => ends.has(name));
    ends.get(name)?.();
  };
  const rest = () => new Promise((resolve) => setImmediate(resolve));
  return { begun, put, end, rest };
}

describe('lanes', () => {
  it('keep the order within, and stand in nobody else’s way', async () => {
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

  it('may be several of one work: it waits for all of them', async () => {
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

  it('run no more at once than told; what waits for its lane takes no place', async () => {
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
