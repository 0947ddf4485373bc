import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ReleaseError } from './release-error.ts';

export type RunOptions = {
  readonly cwd?: string;
  /** Added to this process's own variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
};

const DEADLINE_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const SHOWN_LINES = 15;

/**
 * Runs a program and gives what it prints to standard output.
 * @throws ReleaseError with the last lines that it printed, when it is missing, fails or takes longer than `deadlineMs`.
 */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { cwd, env, deadlineMs = DEADLINE_MS } = options;
  const all = { env: { ...process.env, ...env }, timeout: deadlineMs, maxBuffer: MAX_OUTPUT_BYTES };
  try {
    return (await promisify(execFile)(program, [...args], cwd === undefined ? all : { ...all, cwd })).stdout;
  } catch (error) {
    throw new ReleaseError(whyOf(program, args, error as Failure, deadlineMs), { cause: error });
  }
}

type Failure = { code?: string | number | null; killed?: boolean; stdout?: string; stderr?: string };

function whyOf(program: string, args: readonly string[], error: Failure, deadlineMs: number): string {
  // Programs that Go built have their version in their file name.
  const name = program
    .split('/')
    .at(-1)
    ?.replace(/-v[\d.]+$/, '');
  if (error.code === 'ENOENT') return `${name} is needed and is not on the PATH. Install it, then try again.`;
  const why = error.killed
    ? `took longer than ${deadlineMs / 1000} s`
    : `failed with exit code ${error.code}`;
  const printed = `${error.stdout ?? ''}${error.stderr ?? ''}`.trimEnd().split('\n').slice(-SHOWN_LINES);
  return `${name} ${args[0] ?? ''} ${why}:\n${printed.join('\n')}`;
}
