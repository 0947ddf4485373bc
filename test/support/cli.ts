import { runCli } from '../../src/cli/program.ts';
import { nodeSource } from '../../src/runtime/node-source.ts';

/** Runs a command of the CLI in this process, and gives what it printed. */
export async function cli(env: Readonly<Record<string, string | undefined>>, ...args: string[]) {
  return cliUntil(new AbortController().signal, env, ...args);
}

/** The same, and Ctrl-C comes when `signal` aborts. */
export async function cliUntil(
  signal: AbortSignal,
  env: Readonly<Record<string, string | undefined>>,
  ...args: string[]
) {
  const printed: string[] = [];
  const notes: string[] = [];
  const written: Buffer[] = [];
  const exitCode = await runCli(args, {
    source: nodeSource(env),
    print: (line) => printed.push(line),
    write: async (bytes) => void written.push(bytes),
    note: (line) => notes.push(line),
    signal,
  });
  return { exitCode, out: printed.join('\n'), notes: notes.join('\n'), bytes: Buffer.concat(written) };
}

/** The same with `--json`; fails where the exit code isn't 0. */
export async function cliJson<T>(
  env: Readonly<Record<string, string | undefined>>,
  ...args: string[]
): Promise<T> {
  const { exitCode, out, notes } = await cli(env, ...args, '--json');
  if (exitCode !== 0) throw new Error(`hookline ${args.join(' ')} ended with ${exitCode}: ${notes} ${out}`);
  return JSON.parse(out);
}
