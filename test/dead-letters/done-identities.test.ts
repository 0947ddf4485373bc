import { expect, it } from 'vitest';
import { DoneIdentities } from '../../src/dead-letters/done-identities.ts';

const identity = (n: number) => JSON.stringify([`0b1f8c6e-${n}`, String(1_800_000_000_000 + n), null, null]);

it('knows what was added, and nothing else, however much it is', () => {
  const done = new DoneIdentities();
  const count = 200_000;
  for (let n = 0; n < count; n++) done.add(identity(n));
  for (let n = 0; n < 10; n++) done.add(identity(n));
  const known = (from: number) =>
    Array.from({ length: count }, (_, n) => done.has(identity(from + n))).filter(Boolean).length;
  expect(known(0)).toBe(count);
  expect(known(count)).toBe(0);
});

it('begins anew when it is full', () => {
  const done = new DoneIdentities(10);
  for (let n = 0; n < 11; n++) done.add(identity(n));
  expect([0, 9, 10].map((n) => done.has(identity(n)))).toEqual([false, false, true]);
});
