import { expect, it } from 'vitest';
import { OncePerState } from '../../../src/console/dead-letters/dead-letters-pages.ts';

it('makes what fifty pages show once for each state and selection', () => {
  const shared = new OncePerState<string>();
  let made = 0;
  const look = (state: string, key: string) => shared.get(state, key, () => `${state} ${key} ${++made}`);
  for (let n = 0; n < 50; n++) expect([look('1', 'all'), look('1', 'some')]).toEqual(['1 all 1', '1 some 2']);
  expect([look('2', 'all'), look('2', 'all'), made]).toEqual(['2 all 3', '2 all 3', 3]);
  expect(() =>
    shared.get('2', 'failing', () => {
      throw new Error('not read');
    }),
  ).toThrow('not read');
  expect(look('2', 'failing')).toBe('2 failing 4');
});
