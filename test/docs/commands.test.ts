import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMAND_TYPES } from '../../src/core/command.ts';
import { type CliUsage, cliUsages, usageFault } from '../support/cli-usage.ts';
import { DOCUMENTS, readDocument, sectionOf, tableRows } from '../support/documents.ts';
import { shellCommands } from '../support/shell-commands.ts';
import { ROOT } from '../support/source-tree.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const makefile = read('Makefile');
const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
const usages = await cliUsages();

/** Programs that a reader has or is told to install. */
const OTHER_PROGRAMS = new Set(
  'cat cosign cp curl datacontract diff docker echo eval export grep helm kcat kill kind kubectl mkdir node openssl pip printf sed sleep sort'.split(
    ' ',
  ),
);
/** History names commands of its time. */
const documents = DOCUMENTS.filter(({ path }) => path !== 'CHANGELOG.md');

/** Why a command would not work as it is written, or null. */
function faultOf(words: readonly string[], isOwnNode = false): string | null {
  const [program = '', ...args] = words;
  if (program === 'npx')
    return ['hookline', 'node'].includes(args[0] ?? '') ? faultOf(args, true) : `npx ${args[0]}`;
  if (program === 'hookline') return cliFault(args);
  if (program === 'make') return makeFault(args);
  if (program === 'npm') return npmFault(args);
  if (program === 'kubectl') return args.includes('--') ? faultOf(args.slice(args.indexOf('--') + 1)) : null;
  if (!OTHER_PROGRAMS.has(program)) return 'is not a known program';
  if (program === 'node' && !isOwnNode && args.some((arg) => arg.endsWith('.ts'))) return 'npx node';
  const lost = args.filter(
    (arg) => /^(deploy|src|test|schemas|docs)\//.test(arg) && !existsSync(join(ROOT, arg)),
  );
  return lost.length > 0 ? `${lost} does not exist` : null;
}

function cliFault(args: readonly string[]): string | null {
  const [command, type = ''] = args;
  if (command === 'command' && /^[a-z]/.test(type) && !(COMMAND_TYPES as readonly string[]).includes(type))
    return `${type} is not a type of command`;
  return usageFault(usages, args);
}

function makeFault(args: readonly string[]): string | null {
  const [verb = '', ...more] = args.filter((arg) => arg !== '-s' && !arg.startsWith('ARGS='));
  if (more.length > 0) return `make has no argument ${more}`;
  if (!makefile.includes(`\n${verb}:`)) return `make has no verb ${verb}`;
  const given = args.find((arg) => arg.startsWith('ARGS='))?.slice('ARGS='.length) ?? '';
  const names = [...given.matchAll(/--([a-z-]+)/g)].map(([, name = '']) => name);
  const unknown = names.filter((name) => !takes(scripts[verb] ?? '', name));
  return unknown.length > 0 ? `make ${verb} has no option ${unknown}` : null;
}

/** Whether the program that a script starts parses an option of this name. */
function takes(script: string, option: string): boolean {
  const [, main = ''] = /(\S+main\.ts)/.exec(script) ?? [];
  const sources = ['main.ts', 'options.ts'].map((name) => join(dirname(main), name));
  const text = sources
    .filter((path) => existsSync(join(ROOT, path)))
    .map(read)
    .join('');
  return new RegExp(`\\b'?${option}'?: \\{ type: `).test(text);
}

function npmFault(args: readonly string[]): string | null {
  const [run, script = ''] = args.filter((arg) => arg !== '-s');
  if (run === 'ci') return null;
  return run === 'run' && Object.hasOwn(scripts, script) ? null : `npm has no script ${script}`;
}

/** Commands in a sentence: with placeholders, and often without what is not the point there. */
function inlineCommands(prose: string): string[][] {
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll(/\s+/g, ' '));
  const commands = spans.filter((span) => /^(npx )?hookline( |$)|^make |^npm |\w+=\S+ make /.test(span));
  return commands.flatMap((span) =>
    shellCommands(
      span
        .replaceAll(/<[^>]*>/g, 'X')
        .replaceAll(/ …/g, '')
        .replaceAll(/[[\]]/g, ''),
    ),
  );
}

const faultsOf = (commands: readonly (readonly string[])[]) =>
  commands.flatMap((words) => {
    const fault = faultOf(words);
    return fault === null ? [] : [`${words.join(' ')}: ${fault}`];
  });

describe.each(documents.map((document) => [document.path, document] as const))(
  '%s',
  (_, { blocks, prose }) => {
    const shell = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);

    it('has command blocks of valid shell, with programs, verbs and options that exist', () => {
      for (const script of shell) execFileSync('bash', ['-n'], { input: script });
      expect(faultsOf(shell.flatMap(shellCommands))).toEqual([]);
    });

    it('names commands and options that exist', () => {
      expect(faultsOf(inlineCommands(prose))).toEqual([]);
    });
  },
);

describe('docs/operations.md', () => {
  it('lists every command of the tool', () => {
    const section = sectionOf(readDocument('docs/operations.md'), '## The command line tool');
    const listed = tableRows(section).flatMap(([cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => leafOf(text.split(' '))),
    );
    const leaves = [...usages.entries()]
      .filter(([, { commands }]) => commands.length === 0)
      .map(([name]) => name);
    expect(listed.sort()).toEqual(leaves.sort());
  });

  const leafOf = ([group = '', command = '']: string[]) =>
    usages.has(`${group} ${command}`) ? `${group} ${command}` : group;
});

describe('the check of a command', () => {
  it('takes Node of the project for TypeScript: that of the machine may be older', () => {
    expect(faultsOf(shellCommands('npx node deploy/examples/ledger/main.ts'))).toEqual([]);
  });

  it.each([
    'npx hookline dlq redrive --dry',
    'npx hookline dlq redriven',
    'npx hookline dlq show',
    'npx hookline dlq list --filter',
    'npx hookline command subscription.make',
    'npx hookline doctor now',
    'npm run -s readmes',
    'make all',
    'make bench ARGS="--turns 5"',
    'npx node deploy/examples/main.ts',
    'node deploy/examples/ledger/main.ts',
    'rustc main.rs',
  ])('refuses %s', (script) => {
    expect(faultsOf(shellCommands(script))).toHaveLength(1);
  });

  it('knows the tool', () => {
    const dlq: CliUsage | undefined = usages.get('dlq redrive');
    expect(dlq?.options.get('--filter')).toBe('required');
    expect(dlq?.options.get('--dry-run')).toBe('none');
  });
});
