import { runDismiss } from '../../cli/dlq/run-dismiss.ts';
import { runRedrive } from '../../cli/dlq/run-redrive.ts';
import { parseDismissal } from '../../dead-letters/dismiss-all.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { address } from '../page/html.ts';
import {
  type Change,
  defineChange,
  type EndsLater,
  type Fields,
  flagOf,
  orPageError,
  PageError,
  textOf,
} from '../page/page.ts';
import type { Job, JobReport, Jobs, Order } from './jobs.ts';
import { CONDITIONS, type Selection, selectionOf } from './selection.ts';

/** What begins and stops jobs. */
export function jobChanges(
  { config, kafka }: Pick<ConsoleDeps, 'config' | 'kafka'>,
  jobs: Jobs,
): readonly Change[] {
  const runOf = ({ signal, note, onSelected, onProgress }: JobReport) => ({
    shell: { note, signal },
    kafka,
    rate: undefined,
    limit: undefined,
    onSelected,
    onProgress,
  });
  const start = (
    order: Order,
    endsLater: EndsLater,
    work: (report: JobReport) => ReturnType<typeof runRedrive>,
  ): Job => {
    const job = jobs.start(order, work, (ended) => end(...endOf(ended)));
    if (!job)
      throw new PageError(
        409,
        `Another job is running: /dead-letters/jobs/${jobs.running?.id ?? ''}. Wait until it ends, or stop it.`,
      );
    const end = endsLater();
    return job;
  };
  return [
    defineChange<Asked, Job>({
      ...changeOf('redrive', 'Redrive dead-letter records'),
      read: (fields) => ({ ...askedOf(fields), reason: null }),
      make: async ({ selection, isDry, again }, request, endsLater) =>
        start(
          { kind: 'redrive', isDry, again, filter: selection.filter, reason: null, by: request.user.name },
          endsLater,
          (report) => runRedrive(config, { ...runOf(report), filter: selection.parsed, isDry, again }),
        ),
    }),
    defineChange<Asked, Job>({
      ...changeOf('dismiss', 'Dismiss dead-letter records'),
      read(fields, { user }) {
        const { reason } = orPageError(() =>
          parseDismissal({ reason: textOf(fields, 'reason'), by: user.name }),
        );
        return { ...askedOf(fields), reason };
      },
      make: async ({ selection, isDry, reason }, request, endsLater) => {
        const dismissal = { reason: reason ?? '', by: request.user.name };
        return start(
          { kind: 'dismiss', isDry, again: false, filter: selection.filter, ...dismissal },
          endsLater,
          (report) => runDismiss(config, { ...runOf(report), filter: selection.parsed, isDry, dismissal }),
        );
      },
    }),
    defineChange<{ id: string }, Job>({
      path: '/dead-letters/stop',
      title: 'Stop a job',
      role: 'operate',
      fields: ['id'],
      read: (fields) => ({ id: textOf(fields, 'id') }),
      audited: ({ id }) => ({ action: 'stop a job', details: { job: id } }),
      async make({ id }) {
        jobs.interrupt(id);
        return jobNamed(jobs, id);
      },
      show: ({ id }) => ({ see: address('/dead-letters/jobs', id) }),
    }),
  ];
}

/** How a job ended, as the audit trail says it. */
const endOf = ({ id, status, progress, notes }: Job): Parameters<ReturnType<EndsLater>> =>
  status === 'failed'
    ? ['failed', `job ${id}: ${progress} ${notes.at(-1) ?? ''}`]
    : [status === 'stopped' ? 'stopped' : 'done', `job ${id}: ${progress}`];

/** @throws PageError 404 */
export function jobNamed(jobs: Pick<Jobs, 'get'>, id: string): Job {
  const job = jobs.get(id);
  if (!job) throw new PageError(404, `There is no job ${id}: jobs are kept until the console stops.`);
  return job;
}

type Asked = {
  readonly selection: Selection;
  readonly isDry: boolean;
  readonly again: boolean;
  readonly reason: string | null;
};

function askedOf(fields: Fields): Omit<Asked, 'reason'> {
  const selection = selectionOf(fields);
  if (selection.filter.length === 0)
    throw new PageError(
      400,
      'Nothing is selected: give at least one condition, such as stage, code, ref or at.',
    );
  return { selection, isDry: flagOf(fields, 'dryRun'), again: flagOf(fields, 'again') };
}

const changeOf = (
  kind: Order['kind'],
  title: string,
): Pick<Change<Asked, Job>, 'path' | 'title' | 'role' | 'fields' | 'audited' | 'show'> => ({
  path: `/dead-letters/${kind}`,
  title,
  role: 'operate',
  fields: [...CONDITIONS, 'dryRun', 'again', ...(kind === 'dismiss' ? ['reason'] : [])],
  audited: ({ selection: { filter }, isDry, again, reason }) =>
    isDry
      ? null
      : { action: kind, details: { filter, ...(again && { again }), ...(reason !== null && { reason }) } },
  show: ({ id }) => ({ see: address('/dead-letters/jobs', id) }),
});
