import { describe, expect, it } from 'vitest';
import { RememberedCommands } from '../../src/control/remembered-commands.ts';

const at = (offset: number) => ({ topic: 'commands', partition: 0, offset });
const add = (remembered: RememberedCommands, times: readonly number[]) => {
  for (const time of times) remembered.add(`c-${time}`, at(time), time);
};
const times = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
const known = (remembered: RememberedCommands, of: readonly number[]) =>
  of.filter((time) => remembered.positionOf(`c-${time}`) !== undefined);

describe('the commands that are remembered', () => {
  it('are those that finished last, whatever broker was read first', () => {
    const remembered = new RememberedCommands({ max: 100, slack: 10 });
    // The second broker has what is older, and is slower.
    add(remembered, times(1_000, 1_100));
    add(remembered, times(0, 500));
    expect(known(remembered, times(1_000, 1_100))).toHaveLength(100);
  });

  it('are no more than the limit and its slack, also of one time', () => {
    const remembered = new RememberedCommands({ max: 100, slack: 10 });
    for (let n = 0; n < 1_000; n++) remembered.add(`same-${n}`, at(n), 1);
    const left = times(0, 1_000).filter((n) => remembered.positionOf(`same-${n}`));
    expect(left.length).toBeGreaterThanOrEqual(100);
    expect(left.length).toBeLessThanOrEqual(110);
    expect(left.at(-1)).toBe(999);
  });

  it('have the position of their first result', () => {
    const remembered = new RememberedCommands();
    remembered.add('c', at(1), 1);
    remembered.add('c', at(2), 2);
    expect(remembered.positionOf('c')).toMatchObject(at(1));
  });
});
