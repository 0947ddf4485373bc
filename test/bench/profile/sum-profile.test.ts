import { expect, it } from 'vitest';
import { type CpuProfile, sumProfile } from './sum-profile.ts';

const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 9 });
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(idle)', '') },
    { id: 2, callFrame: frame('send', 'file:///app/node_modules/@platformatic/kafka/dist/a.js') },
    { id: 3, callFrame: frame('encode', 'file:///app/node_modules/@platformatic/kafka/dist/b.js') },
    { id: 4, callFrame: frame('', 'file:///app/src/ingress/app.ts') },
    { id: 5, callFrame: frame('write', 'node:internal/streams/writable') },
    { id: 6, callFrame: frame('(garbage collector)', '') },
  ],
  samples: [1, 2, 3, 2, 4, 5, 6],
  timeDeltas: [5_000, 100, 50, 100, 30, 20, 10],
};

it('sums self time by package, ours by folder, and leaves out what was idled', () => {
  const { busyMicros, packages } = sumProfile(profile);
  expect(busyMicros).toBe(310);
  expect(packages).toEqual([
    { name: '@platformatic/kafka', micros: 250 },
    { name: 'src/ingress', micros: 30 },
    { name: 'node:internal/streams', micros: 20 },
    { name: '(garbage collector)', micros: 10 },
  ]);
});

it('sums by function too, the largest first', () => {
  const { functions } = sumProfile(profile);
  expect(functions[0]).toEqual({ name: 'send @platformatic/kafka:10', micros: 200 });
  expect(functions[2]).toEqual({ name: '(anonymous) src/ingress:10', micros: 30 });
});

it('leaves out the first part', () => {
  expect(sumProfile(profile, 5_250).packages.map(({ name }) => name)).toEqual([
    ...['src/ingress', 'node:internal/streams', '(garbage collector)'],
  ]);
});
