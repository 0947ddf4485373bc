import { expect, it } from 'vitest';
import { type Job, type JobReport, Jobs } from '../../../src/console/dead-letters/jobs.ts';
import { jobSection } from '../../../src/console/dead-letters/show-job.ts';
import type { PageRequest } from '../../../src/console/page/page.ts';
import type { DeadLetterOutcome } from '../../../src/dead-letters/redrive-one.ts';
import { runInOrder } from '../../../src/dead-letters/run-in-order.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { deadLetter } from '../../support/dead-letter.ts';

const ORDER = {
  kind: 'redrive' as const,
  isDry: false,
  again: false,
  filter: ['stage=DECRYPT'],
  reason: null,
  by: 'me',
};
const outcome = (at: string, how: DeadLetterOutcome['outcome']): DeadLetterOutcome => ({
  deadLetter: deadLetter({ at }),
  outcome: how,
  to: 'payments.payment-status[0]@1',
});
const due = [deadLetter({ at: '0:1' }), deadLetter({ at: '0:2' })];

function newJobs() {
  let n = 0;
  return new Jobs(systemClock, () => `job-${++n}`);
}

it('lists the first records that stay, says how many there are, and of a dry run not that something happened', async () => {
  const ended = Promise.withResolvers<Job>();
  const stay = Array.from({ length: 120 }, (_, offset) => outcome(`0:${offset}`, 'dead-lettered'));
  newJobs().start(
    { ...ORDER, isDry: true },
    async () => stay,
    async (last) => ended.resolve(last),
  );
  const page = String(
    jobSection(await ended.promise, { may: () => true } as Partial<PageRequest> as PageRequest),
  );
  expect(page).toContain('100 of 120 are shown.');
  expect(page).toContain('would be dead-lettered again');
  expect(page).not.toContain('>dead-lettered<');
});

it('runs one job at a time, and keeps what became of each', async () => {
  const jobs = newJobs();
  const over = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Job>();
  const work = async ({ onSelected, onProgress }: JobReport) => {
    onSelected({ due, unasked: 1, done: 2 });
    onProgress([outcome('0:1', 'stored')]);
    await over.promise;
    return [outcome('0:1', 'stored'), outcome('0:2', 'dead-lettered')];
  };
  const job = jobs.start(ORDER, work, async (last) => ended.resolve(last));
  expect(job).toMatchObject({ id: 'job-1', status: 'running' });
  expect(jobs.start(ORDER, work, async () => {})).toBeUndefined();
  expect(jobs.running).toMatchObject({ id: 'job-1', total: 2, done: 1, progress: '1 of 2: 1 stored.' });
  over.resolve();
  expect(await ended.promise).toMatchObject({
    status: 'done',
    done: 2,
    progress: '2 of 2: 1 stored, 1 dead-lettered again.',
    failures: [{ at: '0:2', outcome: 'dead-lettered' }],
    notes: [
      expect.stringContaining('1 commands and foreign records'),
      expect.stringContaining('2 were redriven'),
    ],
  });
  expect(jobs.running).toBeUndefined();
  expect(
    jobs.start(
      ORDER,
      async () => [],
      async () => {},
    ),
  ).toMatchObject({ id: 'job-2' });
  expect(jobs.all().map(({ id }) => id)).toEqual(['job-2', 'job-1']);
  await jobs.stop();
});

it('says why a job failed', async () => {
  const jobs = newJobs();
  const ended = Promise.withResolvers<Job>();
  const failing = () => Promise.reject(new Error('another redrive is running at there'));
  jobs.start(ORDER, failing, async (last) => ended.resolve(last));
  expect(await ended.promise).toMatchObject({
    status: 'failed',
    notes: ['another redrive is running at there'],
  });
  expect((await ended.promise).endedAt).not.toBeNull();
});

it('lets a job end when it is interrupted, and at the stop', async () => {
  const jobs = newJobs();
  const untilAborted = ({ signal, onSelected }: JobReport) => {
    onSelected({ due, unasked: 0, done: 0 });
    return new Promise<DeadLetterOutcome[]>((resolve) =>
      signal.addEventListener('abort', () => resolve([outcome('0:1', 'stored'), outcome('0:2', 'waiting')])),
    );
  };
  const first = Promise.withResolvers<Job>();
  jobs.start(ORDER, untilAborted, async (last) => first.resolve(last));
  jobs.interrupt('another');
  jobs.interrupt('job-1');
  expect(await first.promise).toMatchObject({ status: 'stopped', done: 1 });
  const early = Promise.withResolvers<Job>();
  const reading = ({ signal }: JobReport) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  jobs.start(ORDER, reading, async (last) => early.resolve(last));
  jobs.interrupt('job-2');
  expect(await early.promise).toMatchObject({ status: 'stopped', notes: [] });
  jobs.start(ORDER, untilAborted, async () => {});
  await jobs.stop();
  expect(jobs.get('job-3')?.status).toBe('stopped');
});

it('says failed of what the brokers ended, and shows what was done', async () => {
  const jobs = newJobs();
  const ended = Promise.withResolvers<Job>();
  const all = ['0:1', '0:2', '0:3', '0:4'].map((at) => deadLetter({ at }));
  const work = async ({ signal, onSelected, onProgress }: JobReport) => {
    onSelected({ due: all, unasked: 0, done: 0 });
    return runInOrder(all, {
      prepare: async () => null,
      one: async (one) =>
        one === all[0]
          ? { deadLetter: one, outcome: 'stored', to: 't[0]@1' }
          : { deadLetter: one, outcome: 'failed', message: 'Kafka does not confirm' },
      rate: 1_000,
      signal,
      onProgress,
    });
  };
  jobs.start(ORDER, work, async (last) => ended.resolve(last));
  const job = await ended.promise;
  expect(job).toMatchObject({ status: 'failed', done: 2, total: 4 });
  expect(job.notes).toEqual(['It ended at 0:2: Kafka does not confirm']);
  const shown = String(jobSection(job, { may: () => true } as Partial<PageRequest> as PageRequest));
  expect(shown).toContain('<progress max="4" value="2"');
});
