import type { Command } from 'commander';
import { connectKafka, loadConfig } from '../shell/connections.ts';
import { collect } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';
import { type Letters, openLetters } from './dead-letter-topic.ts';
import { describeLetter, letterRow, showBody, showLetter } from './describe-dead-letter.ts';
import { FILTER_HELP, parseFilter } from './filter.ts';
import { type RedriveOptions, redrive } from './redrive.ts';

type ListOptions = { filter: string[]; json?: boolean };
type ShowOptions = { body?: string | boolean; json?: boolean };

export function addDlqCommand(program: Command, shell: Shell, run: Run): void {
  const filterHelp = `name=value, as often as needed, all must hold: ${FILTER_HELP}`;
  const dlq = program
    .command('dlq')
    .description(
      'the dead letters: valid webhooks that could not be stored as events, and unreadable commands',
    );
  dlq
    .command('list')
    .description('shows what stands in the dead-letter topic, the oldest first')
    .option('--filter <condition>', filterHelp, collect, [])
    .option('--json', 'print JSON')
    .action(run((options: ListOptions) => list(shell, options)));
  dlq
    .command('show')
    .description(
      'shows one dead letter with its headers, its cause and the mend; never its body unless asked',
    )
    .argument('<letter>', 'partition:offset, as list shows it, or an event id that one letter has')
    .option('--body [file]', 'the original bytes instead, as they arrived, to a new file or standard output')
    .option('--json', 'print JSON')
    .action(run((letter: string, options: ShowOptions) => show(shell, letter, options)));
  dlq
    .command('redrive')
    .description('sends dead letters the way of a webhook again; exit code 1 unless all of them were stored')
    .option('--filter <condition>', filterHelp, collect, [])
    .option('--dry-run', 'tells what would become of them, and publishes nothing')
    .option('--rate <n>', 'letters a second at most')
    .option('--limit <n>', 'no more letters than this, the oldest first')
    .option('--again', 'those too that were redriven before')
    .option('--json', 'print JSON, one object per letter')
    .action(run((options: RedriveOptions) => redrive(shell, options)));
}

async function list(shell: Shell, options: ListOptions): Promise<ExitCode> {
  const filter = parseFilter(options.filter);
  return withLetters(shell, async (letters) => {
    const found = (await letters.all()).filter((letter) => filter.matches(letter));
    printRows(shell, options.json === true, found.map(options.json ? describeLetter : letterRow));
    return 0;
  });
}

async function show(shell: Shell, name: string, options: ShowOptions): Promise<ExitCode> {
  if (options.body !== undefined && options.json)
    throw new UsageError('--body gives the bytes alone: leave --json out.');
  const filter = parseFilter([/^\d+:\d+$/.test(name) ? `at=${name}` : `id=${name}`]);
  return withLetters(shell, async (letters) => {
    const found = (await letters.all()).filter((letter) => filter.matches(letter));
    const [letter, ...more] = found;
    if (!letter) throw new Error(`no dead letter ${name}: hookline dlq list shows those that are there`);
    if (more.length > 0) {
      throw new Error(`${name} has ${found.length} dead letters: ${found.map(({ at }) => at).join(', ')}`);
    }
    if (options.body === undefined) return showLetter(shell, letter, options.json === true);
    return showBody(shell, letter, letters, options.body === true ? undefined : String(options.body));
  });
}

async function withLetters(shell: Shell, work: (letters: Letters) => Promise<ExitCode>): Promise<ExitCode> {
  const config = loadConfig(shell, 'kafka', 'topics');
  const letters = await openLetters(connectKafka(config), config.topics.prefix);
  try {
    return await work(letters);
  } finally {
    await letters.stop();
  }
}
