import { expect, it } from 'vitest';
import { createLimiter } from '../../../src/sandbox/deliveries/deliver.ts';

it('runs at most so many of a key at a time, in order, and a failure gives its place back', async () => {
  const limiter = createLimiter(2);
  const started: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const run = (key: string, name: string) =>
    limiter.run(key, async () => {
      started.push(name);
      const gate = Promise.withResolvers<void>();
      gates.set(name, gate);
      await gate.promise;
      return name;
    });
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  const runs = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('a', 'a4'), run('b', 'b1')];
  await turn();
  expect(started).toEqual(['a1', 'a2', 'b1']);
  gates.get('a2')?.reject(new Error('no'));
  await expect(runs[1]).rejects.toThrow('no');
  await turn();
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
  const a5 = run('a', 'a5');
  await turn();
  expect(started).not.toContain('a5');
  gates.get('a1')?.resolve();
  await turn();
  expect(started.at(-1)).toBe('a4');
  gates.get('a3')?.resolve();
  await turn();
  for (const gate of gates.values()) gate.resolve();
  expect(await a5).toBe('a5');
  expect(await Promise.all([runs[0], runs[2], runs[3], runs[4]])).toEqual(['a1', 'a3', 'a4', 'b1']);
});
