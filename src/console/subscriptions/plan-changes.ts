import { applyPlan } from '../../cli/subscriptions/apply-plan.ts';
import { type CommandChannel, openCommandChannel } from '../../cli/subscriptions/command-channel.ts';
import { makePlan, readWantedFile } from '../../cli/subscriptions/make-plan.ts';
import { type Plan, refsDeleted } from '../../cli/subscriptions/plan.ts';
import type { WantedSubscriptions } from '../../cli/subscriptions/read-wanted.ts';
import { hasMoreTokens } from '../../cli/subscriptions/yaml-source.ts';
import { UsageError } from '../../core/errors.ts';
import { sha256Of } from '../../crypto/ids.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import {
  type Change,
  defineChange,
  type Fields,
  flagOf,
  PageError,
  type PageRequest,
  textOf,
} from '../page/page.ts';
import { type ApplyResult, type Planned, showApplied, showPlanned } from './show-plan.ts';

/** A file as it was pasted or uploaded. */
export type GivenFile = {
  readonly text: string;
  readonly wanted: WantedSubscriptions;
  /** Whether control is asked what the provider has. */
  readonly refresh: boolean;
};

const FIELDS = ['file', 'noRefresh'];
/** How positions in faults name the file. */
const FILE = 'subscriptions.yaml';
const MOST_CHARACTERS = 100_000;
/**
 * Lines and commas, which bound the names of one map: the parser compares each of them with all others. So many take it 0.2 s, in which
 * nobody else is answered.
 */
const MOST_LINES = 2_500;
/** Names, values and signs, also those without a comma or line between them. So many take the parser no longer than so many lines. */
const MOST_TOKENS = 15_000;
const MOST_FAULTS = 20;
/** A person and their browser wait: what is later is found by its id on the page Commands. */
const TIMEOUT_MS = 30_000;

/** Shows what a file would change. It changes nothing, and has control ask the provider: not for everyone. */
export const planChange = (deps: ConsoleDeps): Change =>
  defineChange<GivenFile, Planned>({
    path: '/subscriptions/plan',
    title: 'Plan of subscriptions',
    cli: (given) => commandOf('plan', given),
    role: 'operate',
    fields: FIELDS,
    read: (fields) => readFile(deps, fields),
    audited: () => null,
    make: (file, request) =>
      withChannel(deps, request, async (channel) => planned(await planOf(deps, channel, file), file)),
    show: showPlanned,
  });

type Apply = GivenFile & { readonly mayDelete: boolean; readonly seen: string };

/** Sends the commands of a plan that was seen, and waits for their results. */
export const applyChange = (deps: ConsoleDeps): Change =>
  defineChange<Apply, ApplyResult>({
    path: '/subscriptions/apply',
    title: 'Applied subscriptions',
    cli: (given) => commandOf('apply', given, given.mayDelete),
    role: 'operate',
    fields: [...FIELDS, 'delete', 'seen'],
    read: (fields) => ({
      ...readFile(deps, fields),
      mayDelete: flagOf(fields, 'delete'),
      seen: textOf(fields, 'seen'),
    }),
    audited: ({ wanted, mayDelete, text }) => ({
      action: 'subscriptions apply',
      details: {
        topic: wanted.topic,
        refs: wanted.subscriptions.map(({ ref }) => ref).slice(0, 1_000),
        mayDelete,
        sha256: sha256Of(Buffer.from(text)),
      },
    }),
    make: (file, request, endsLater) =>
      withChannel(deps, request, async (channel) => {
        const { plan, seen } = planned(await planOf(deps, channel, file), file);
        if (file.seen !== '' && file.seen !== seen)
          throw new PageError(
            409,
            'Something has changed since the plan was made, and nothing was sent: make the plan again.',
          );
        const deleted = refsDeleted(plan);
        if (deleted.length > 0 && !file.mayDelete)
          throw new PageError(
            400,
            `Nothing was sent, because it would delete ${deleted.join(', ')}: add them to the file, or allow deletions.`,
          );
        const results =
          plan.changes.length === 0 ? [] : await applyPlan(deps.shell, channel, plan, TIMEOUT_MS);
        const succeeded = results.filter(({ status }) => status === 'SUCCEEDED').length;
        if (succeeded < results.length)
          await endsLater()('failed', `${succeeded} of ${results.length} commands succeeded`);
        return { plan, results };
      }),
    show: showApplied,
  });

const commandOf = (verb: 'plan' | 'apply', { refresh }: GivenFile, mayDelete = false): string =>
  `hookline subscriptions ${verb} -f ${FILE}${refresh ? '' : ' --no-refresh'}${mayDelete ? ' --delete' : ''}`;

const planned = (plan: Plan, { text, refresh }: GivenFile): Planned => ({
  plan,
  text,
  refresh,
  seen: sha256Of(Buffer.from(JSON.stringify([plan.topic, plan.changes]))),
});

async function planOf(deps: ConsoleDeps, channel: CommandChannel, file: GivenFile): Promise<Plan> {
  const plan = await makePlan(deps.shell, channel, file.wanted, {
    refresh: file.refresh,
    timeoutMs: TIMEOUT_MS,
    commandTopics: deps.config.commands.topics,
  });
  if (plan.conflicts.length > 0)
    throw new PageError(409, `The file conflicts with command topics: ${plan.conflicts.join('; ')}.`);
  return plan;
}

async function withChannel<T>(
  { shell, config }: ConsoleDeps,
  { user }: PageRequest,
  act: (channel: CommandChannel) => Promise<T>,
): Promise<T> {
  const channel = await openCommandChannel(shell, config, user.name);
  try {
    return await act(channel);
  } catch (error) {
    if (error instanceof UsageError) throw new PageError(400, error.message);
    throw error;
  } finally {
    await channel.stop();
  }
}

function readFile({ shell }: ConsoleDeps, fields: Fields): GivenFile {
  const text = textOf(fields, 'file');
  if (text === '' || text.length > MOST_CHARACTERS)
    throw new PageError(
      400,
      'file must be the text of a file of subscriptions, of 100,000 characters at most. The command line takes longer ones.',
    );
  const lines = text.split(/[\n,]/).length;
  if (lines > MOST_LINES)
    throw new PageError(
      400,
      `The file has ${lines} lines and commas, and ${MOST_LINES} at most are read here. The command line takes longer ones.`,
    );
  if (hasMoreTokens(text, MOST_TOKENS))
    throw new PageError(
      400,
      `The file has more than ${MOST_TOKENS} names, values and signs, and no more are read here. The command line takes longer ones.`,
    );
  const read = readWantedFile(shell, FILE, text);
  if ('faults' in read) {
    const more = read.faults.length - MOST_FAULTS;
    const shown = `${read.faults.slice(0, MOST_FAULTS).join('. ')}${more > 0 ? `. And ${more} more` : ''}`;
    throw new PageError(400, `The file cannot be used. ${shown}.`);
  }
  return { text, wanted: read.wanted, refresh: !flagOf(fields, 'noRefresh') };
}
