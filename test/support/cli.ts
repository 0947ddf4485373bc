import { runCli } from '../../src/cli/program.ts';
import { nodeSource } from '../../src/config/env.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs a command of the CLI in this process, and gives what it printed. */
export const cli = (env: Environment, ...args: string[]) => call(env, args);

/** The same, and Ctrl-C comes when `signal` aborts. */
export const cliUntil = (signal: AbortSignal, env: Environment, ...args: string[]) =>
  call(env, args, { signal });

/** The same on a terminal of so many columns. */
export const cliOn = (columns: number, env: Environment, ...args: string[]) => call(env, args, { columns });

async function call(
  env: Environment,
  args: string[],
  around: { signal?: AbortSignal; columns?: number } = {},
) {
  const printed: string[] = [];
  const notes: string[] = [];
  const written: Buffer[] = [];
  const exitCode = await runCli(args, {
    source: nodeSource(env),
    print: (line) => printed.push(line),
    async write(bytes) {
      written.push(bytes);
      printed.push(bytes.toString().replace(/\n$/, ''));
    },
    note: (line) => notes.push(line),
    signal: around.signal ?? new AbortController().signal,
    columns: around.columns,
  });
  return { exitCode, out: printed.join('\n'), notes: notes.join('\n'), bytes: Buffer.concat(written) };
}

/** The same with `--json`; fails where the exit code isn't 0. */
export async function cliJson<T>(env: Environment, ...args: string[]): Promise<T> {
  const { exitCode, out, notes } = await cli(env, ...args, '--json');
  if (exitCode !== 0) throw new Error(`hookline ${args.join(' ')} ended with ${exitCode}: ${notes} ${out}`);
  return JSON.parse(out);
}
