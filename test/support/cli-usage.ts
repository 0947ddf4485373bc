import { cli } from './cli.ts';

/** What the help of a command says that it takes. */
export type CliUsage = {
  /** Whether a value follows the option. */
  readonly options: ReadonlyMap<string, 'none' | 'required' | 'optional'>;
  /** Names of its commands; empty for a command that does something itself. */
  readonly commands: readonly string[];
  readonly least: number;
  readonly most: number;
};

/** Every command of the tool by its words, such as `dlq list`; the tool itself by no word. */
export async function cliUsages(path: readonly string[] = []): Promise<Map<string, CliUsage>> {
  const { out } = await cli({}, ...path, '--help');
  const usage = parseHelp(out);
  const below = await Promise.all(usage.commands.map((name) => cliUsages([...path, name])));
  return new Map([[path.join(' '), usage], ...below.flatMap((usages) => [...usages])]);
}

function parseHelp(help: string): CliUsage {
  const [, line = ''] = /^Usage: (.*)$/m.exec(help) ?? [];
  const [, listed = ''] = /^Commands:\n((?: .*\n?)*)/m.exec(help) ?? [];
  const options = [...help.matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)(?: ([<[]))?/gm)];
  return {
    options: new Map(
      options.flatMap(([, short, long = '', bracket]) =>
        [short, long]
          .filter((name) => name !== undefined)
          .map((name) => [name, bracket === undefined ? 'none' : bracket === '<' ? 'required' : 'optional']),
      ),
    ),
    commands: [...listed.matchAll(/^ {2}([a-z]+)\b/gm)].flatMap(([, name = '']) =>
      name === 'help' ? [] : [name],
    ),
    least: line.match(/<\w+>/g)?.length ?? 0,
    most: line.match(/(<\w+>)|(\[(?!options|command)\w+\])/g)?.length ?? 0,
  };
}

/** Why the tool would refuse these arguments, or null. A group alone, as in "`hookline dlq` …", is no call. */
export function usageFault(usages: ReadonlyMap<string, CliUsage>, args: readonly string[]): string | null {
  let depth = 0;
  while (usages.has(args.slice(0, depth + 1).join(' ')) && depth < args.length) depth++;
  const name = args.slice(0, depth).join(' ');
  const usage = usages.get(name);
  const rest = args.slice(depth);
  if (!usage) return `the tool has no command ${args[0]}`;
  if (usage.commands.length > 0 && rest.some((word) => !word.startsWith('-')))
    return `${name} has no command ${rest[0]}`;
  let given = 0;
  for (let at = 0; at < rest.length; at++) {
    const [option = '', value] = (rest[at] ?? '').split('=');
    if (!option.startsWith('-')) given++;
    else {
      const kind = usage.options.get(option);
      if (kind === undefined) return `${name} has no option ${option}`;
      const follows = rest[at + 1] !== undefined && !rest[at + 1]?.startsWith('-');
      if (kind === 'required' && value === undefined && !follows) return `${option} needs a value`;
      if (kind !== 'none' && value === undefined && follows) at++;
    }
  }
  if (given > usage.most) return `${name} takes ${usage.most} arguments`;
  return given < usage.least ? `${name} needs ${usage.least} arguments` : null;
}
