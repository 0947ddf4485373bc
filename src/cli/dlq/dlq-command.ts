import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { type DeadLetterTopic, openDeadLetterTopic } from '../../dead-letters/dead-letter-topic.ts';
import { deadLetterRow, describeDeadLetter } from '../../dead-letters/describe-dead-letter.ts';
import { parseDismissal } from '../../dead-letters/dismiss-all.ts';
import { FILTER_HELP, parseFilter } from '../../dead-letters/filter.ts';
import { connectBodyStore, connectKafka, loadConfig, REDELIVERY_GROUPS } from '../shell/connections.ts';
import { collect } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { type RunOptions, reportedRun } from './report-run.ts';
import { runDismiss } from './run-dismiss.ts';
import { runRedrive } from './run-redrive.ts';
import { bodyOf, showBody, showDeadLetter } from './show-dead-letter.ts';

type ListOptions = { filter?: string[]; json?: boolean };
type ShowOptions = { body?: string | boolean; json?: boolean; reveal?: boolean };
type RedriveOptions = RunOptions & { again?: boolean };
type DismissOptions = RunOptions & { reason?: string; by?: string };

export function addDlqCommand(program: Command, shell: Shell, run: Run): void {
  const filterHelp = `only records that meet this condition (name=value); may be repeated, all must hold: ${FILTER_HELP}`;
  const dlq = program
    .command('dlq')
    .description(
      'dead-letter records: valid webhooks that could not be stored as events, and unreadable commands',
    );
  dlq
    .command('list')
    .description('lists the dead-letter records, oldest first')
    .option('--filter <condition>', filterHelp, collect)
    .option('--json', 'print JSON')
    .action(run((options: ListOptions) => list(shell, options)));
  dlq
    .command('show')
    .description(
      'shows one dead-letter record with its headers, cause and remedy; its body only with --reveal or --body',
    )
    .argument('<record>', 'partition:offset as list shows it, or the event id if only one record has it')
    .option('--body [file]', 'writes only the original bytes, as received, to a new file or standard output')
    .option('--reveal', 'also shows the body: JSON, text, or else base64')
    .option('--json', 'print JSON')
    .action(run((deadLetter: string, options: ShowOptions) => show(shell, deadLetter, options)));
  dlq
    .command('redrive')
    .description(
      'processes dead-letter records again, as if they had just arrived; exit code 1 unless all were stored',
    )
    .option('--filter <condition>', filterHelp, collect)
    .option('--dry-run', 'shows what would happen, and publishes nothing')
    .option('--rate <n>', 'at most so many records per second')
    .option('--limit <n>', 'at most so many records, the oldest first')
    .option('--again', 'includes records that were redriven or dismissed before')
    .option('--json', 'print JSON: one object per record')
    .action(run((options: RedriveOptions) => redrive(shell, options)));
  dlq
    .command('dismiss')
    .description(
      'marks dead-letter records as needing nobody any more, with a reason; they stay in the topic; exit code 1 unless all were marked',
    )
    .requiredOption(
      '--reason <text>',
      'why; at most 500 characters, without personal data: the topic shows them',
    )
    .option('--by <name>', 'who dismisses them (default: the user that runs this command)')
    .option('--filter <condition>', filterHelp, collect)
    .option('--dry-run', 'shows what would be dismissed, and marks nothing')
    .option('--rate <n>', 'at most so many records per second')
    .option('--limit <n>', 'at most so many records, the oldest first')
    .option('--json', 'print JSON: one object per record')
    .action(run((options: DismissOptions) => dismiss(shell, options)));
}

async function list(shell: Shell, options: ListOptions): Promise<ExitCode> {
  const filter = parseFilter(options.filter);
  return withDeadLetterTopic(shell, { readsBodies: false }, async (topic) => {
    const found = await topic.all(filter);
    printRows(shell, options.json === true, found.map(options.json ? describeDeadLetter : deadLetterRow));
    return 0;
  });
}

const POSITION = /^\d+:\d+$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

async function show(shell: Shell, name: string, options: ShowOptions): Promise<ExitCode> {
  if (options.body !== undefined && options.json)
    throw new UsageError('--body writes bytes only: leave out --json.');
  if (!POSITION.test(name) && !UUID.test(name))
    throw new UsageError(
      `${JSON.stringify(name)} is neither partition:offset nor an event id: "hookline dlq list" shows both.`,
    );
  const filter = parseFilter([POSITION.test(name) ? `at=${name}` : `id=${name}`]);
  const readsBodies = options.body !== undefined || options.reveal === true;
  return withDeadLetterTopic(shell, { readsBodies }, async (topic) => {
    const found = await topic.all(filter);
    const [deadLetter, ...more] = found;
    if (!deadLetter)
      throw new Error(`no dead-letter record ${name}: "hookline dlq list" shows those that exist`);
    if (more.length > 0) {
      throw new Error(
        `${found.length} dead-letter records have the event id ${name}: ${found.map(({ at }) => at).join(', ')}; name one by its position`,
      );
    }
    if (options.body === undefined) {
      const body = options.reveal ? await bodyOf(deadLetter, topic) : undefined;
      return showDeadLetter(shell, deadLetter, { json: options.json === true, body });
    }
    return showBody(shell, deadLetter, topic, options.body === true ? undefined : String(options.body));
  });
}

async function withDeadLetterTopic(
  shell: Shell,
  { readsBodies }: { readonly readsBodies: boolean },
  work: (topic: DeadLetterTopic) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = loadConfig(shell, 'kafka', 'topics', 'bodyStore', 'subscriptions');
  const access = {
    bodies: readsBodies ? await connectBodyStore(config) : undefined,
    sealingKeys: readsBodies ? readSealingKeys(config.subscriptions.sealingKeyFile) : undefined,
  };
  const kafka = connectKafka(config);
  const topic = await openDeadLetterTopic(kafka, config.topics.prefix, access, shell.signal);
  try {
    return await work(topic);
  } finally {
    await topic.stop();
  }
}

async function redrive(shell: Shell, options: RedriveOptions): Promise<ExitCode> {
  const { run, print } = reportedRun(shell, options, ': --again redrives them once more');
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const kafka = connectKafka(config);
  return print(await runRedrive(config, { ...run, kafka, again: options.again === true }), 'stored');
}

async function dismiss(shell: Shell, options: DismissOptions): Promise<ExitCode> {
  const dismissal = parseDismissal({ ...options, by: options.by ?? userName() });
  const { run, print } = reportedRun(shell, options);
  const config = loadConfig(shell, 'kafka', 'topics');
  const kafka = connectKafka(config);
  return print(await runDismiss(config, { ...run, kafka, dismissal }), 'dismissed');
}

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
