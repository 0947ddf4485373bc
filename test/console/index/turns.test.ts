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

it('lets the index wait while a page is made, between its readings too', async () => {
  const turns = new Turns();
  const done: string[] = [];
  const begun = Promise.withResolvers<void>();
  const page = turns.page(async () => {
    await turns.run('search', async () => void done.push('search 1'));
    await begun.promise;
    await turns.run('tail', async () => void done.push('tail'));
    await turns.run('search', async () => void done.push('search 2'));
  });
  await turns.run('search', async () => void done.push('other page'));
  // Nobody reads now, and the page is not made yet.
  const index = turns.run('index', async () => void done.push('index'));
  begun.resolve();
  await Promise.all([page, index]);
  expect(done).toEqual(['search 1', 'other page', 'tail', 'search 2', 'index']);
});
