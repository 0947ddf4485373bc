import { expect, it } from 'vitest';
import { ArrivingMemory } from '../../../src/ingress/body/arriving-memory.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const MIB = 1024 * 1024;

/** A turn that ends when it is told to. */
function turns() {
  const turn = Promise.withResolvers<void>();
  const memory = new ArrivingMemory(8 * MIB, { ...systemClock, turn: () => turn.promise });
  const done: number[] = [];
  const arrive = (n: number, bytes: number) => void memory.together(bytes).then(() => done.push(n));
  return { arrive, done, end: turn.resolve };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('bodies of one turn go on together, in their order', async () => {
  const { arrive, done, end } = turns();
  for (const n of [0, 1, 2]) arrive(n, 600);
  await settled();
  expect(done).toEqual([]);
  end();
  await settled();
  expect(done).toEqual([0, 1, 2]);
});

it('no more than 4 MiB wait for the end of a turn, and none is overtaken', async () => {
  const { arrive, done, end } = turns();
  arrive(0, 600);
  arrive(1, 4 * MIB);
  arrive(2, 600);
  await settled();
  expect(done).toEqual([0, 1]);
  end();
  await settled();
  expect(done).toEqual([0, 1, 2]);
});
