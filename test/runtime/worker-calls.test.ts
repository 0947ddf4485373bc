import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { WorkerCalls } from '../../src/runtime/worker-calls.ts';
import { until } from '../support/until.ts';

let log: string[];
let thread: WorkerCalls<string, string, string>;

beforeEach(() => {
  log = [];
  thread = new WorkerCalls({
    program: new URL('./worker-calls.fixture.ts', import.meta.url),
    options: { stderr: true },
    onEvent: (event) => log.push(event),
    onDeath: (error) => log.push(`death: ${error.message}`),
    failure: (cause) => new HooklineError('SPOOL_FAILING', cause ? undefined : 'it is closed', { cause }),
  });
});
afterEach(() => thread.terminate());

describe('calls to a worker thread', () => {
  it('are answered each by its own result', async () => {
    const answers = await Promise.all(['a', 'b', 'c'].map((word) => thread.call(word)));
    expect(answers).toEqual(['done a', 'done b', 'done c']);
  });

  it('cross together when they are made in one turn, and apart otherwise', async () => {
    expect(await Promise.all([thread.call('count'), thread.call('count')])).toEqual(['2', '2']);
    expect(await thread.call('count')).toBe('1');
  });

  it('fail with the error of the thread, which keeps its code and detail', async () => {
    await expect(thread.call('refuse')).rejects.toMatchObject({ code: 'SPOOL_FULL', detail: '16 MiB' });
    const error: HooklineError = await thread.call('break').catch((reason) => reason);
    expect([error.code, String(error.cause).split('\n')[0]]).toEqual([
      'INTERNAL',
      'TypeError: nothing there',
    ]);
  });

  it('fail where a request cannot be copied to the thread, and hold up no later one', async () => {
    const work = (() => {}) as unknown as string;
    await expect(thread.call(work)).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    expect(await thread.call('a')).toBe('done a');
  });

  it('are told of events before the answers that came with them', async () => {
    await thread.call('report').then((answer) => log.push(answer));
    expect(log).toEqual(['reported', 'after it']);
  });

  it.each([
    ['die', 'the thread ended'],
    ['throw', 'of the thread'],
  ])('fail, all that wait and all later ones, when the thread ends by itself (%s)', async (way, why) => {
    const waiting = Promise.allSettled([thread.call('hold'), thread.call(way)]);
    for (const end of await waiting)
      expect(end).toMatchObject({
        reason: { code: 'SPOOL_FAILING', cause: expect.objectContaining({ message: why }) },
      });
    expect(log.filter((line) => line.startsWith('death'))).toEqual([`death: ${why}`]);
    await expect(thread.call('late')).rejects.toMatchObject({ detail: 'it is closed' });
    expect(thread.isEnded).toBe(true);
  });

  it('end with a last one, and nothing is told of a death', async () => {
    const before = thread.call('before');
    await thread.close('close');
    expect(await before).toBe('done before');
    await thread.close('close');
    await expect(thread.call('late')).rejects.toMatchObject({ detail: 'it is closed' });
    expect(log).toEqual([]);
  });

  it('are rejected at once when the thread is ended on purpose', async () => {
    const held = thread.call('hold');
    const refused = expect(held).rejects.toMatchObject({ code: 'SPOOL_FAILING', detail: 'it is closed' });
    await until('the thread has it', () => log.includes('held'));
    await thread.terminate();
    await refused;
    expect(log).toEqual(['held']);
  });
});
