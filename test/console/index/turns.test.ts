import { expect, it } from 'vitest';
import { Turns } from '../../../src/console/index/turns.ts';

it('does one thing after the other, the most urgent that waits first', async () => {
  const turns = new Turns();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  let atOnce = 0;
  const work = (name: string, until?: Promise<void>) => async () => {
    expect(++atOnce).toBe(1);
    await until;
    done.push(name);
    atOnce--;
  };
  await Promise.all([
    turns.run('index', work('first', first.promise)),
    turns.run('scan', work('scan')),
    turns.run('index', work('index')),
    turns.run('tail', work('tail')),
    turns.run('search', work('search')),
    Promise.resolve().then(() => first.resolve()),
  ]);
  expect(done).toEqual(['first', 'search', 'tail', 'index', 'scan']);
});

it('goes on after a failure', async () => {
  const turns = new Turns();
  const failing = turns.run('index', () => Promise.reject(new Error('lost')));
  const next = turns.run('search', async () => 'found');
  await expect(failing).rejects.toThrow('lost');
  expect(await next).toBe('found');
});
