import { describe, expect, it } from 'vitest';
import { createComponents } from '../../src/runtime/components.ts';

/** Parts whose end is written down in order. */
function watchedParts() {
  const ended: string[] = [];
  const parts = createComponents({
    stopped: (name, error) => ended.push(error ? `${name}: ${(error as Error).message}` : name),
    failedAgain: (error) => ended.push(`again: ${(error as Error).message}`),
  });
  return { parts, ended };
}

const stops = { stop: async () => {} };

describe('parts', () => {
  it('stop in the reverse order, each when the one after it is done', async () => {
    const { parts, ended } = watchedParts();
    const { promise, resolve } = Promise.withResolvers<void>();
    parts.add('admin', stops);
    parts.add('publisher', stops);
    parts.add('server', { stop: () => promise });
    const stopped = parts.stopAll();
    expect([parts.stopping.aborted, parts.remaining()]).toEqual([true, ['admin', 'publisher', 'server']]);
    resolve();
    await stopped;
    expect([ended, parts.remaining()]).toEqual([['server', 'publisher', 'admin'], []]);
  });

  it('stop once, however often they are asked to', async () => {
    const { parts, ended } = watchedParts();
    let calls = 0;
    parts.add('server', {
      stop: async () => {
        calls++;
      },
    });
    await Promise.all([parts.stopAll(), parts.stopAll()]);
    await parts.stopAll();
    expect([calls, ended]).toEqual([1, ['server']]);
  });

  it('stop all, though one rejects and another throws at once', async () => {
    const { parts, ended } = watchedParts();
    parts.add('first', stops);
    parts.add('rejects', { stop: () => Promise.reject(new Error('not connected')) });
    parts.add('throws', {
      stop: () => {
        throw new Error('no such thing');
      },
    });
    await parts.stopAll();
    expect(ended).toEqual(['throws: no such thing', 'rejects: not connected', 'first']);
  });

  it('stop what a start adds that went on meanwhile, and after', async () => {
    const { parts, ended } = watchedParts();
    const { promise, resolve } = Promise.withResolvers<void>();
    parts.add('server', { stop: () => promise });
    const stopped = parts.stopAll();
    parts.add('late', stops);
    resolve();
    await stopped;
    expect(ended).toEqual(['server', 'late']);
    parts.add('later', stops);
    await parts.stopAll();
    expect(ended).toEqual(['server', 'late', 'later']);
  });

  it('do not throw a failure while stopping: work in flight is finished', async () => {
    const { parts, ended } = watchedParts();
    await parts.stopAll();
    parts.fail(new Error('the consumer has ended'));
    expect(ended).toEqual(['again: the consumer has ended']);
  });
});
