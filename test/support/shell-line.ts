import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './source-tree.ts';

/** Runs a line of a shell in which `hookline` is the CLI; rejects where any part of a pipe fails. */
export function shellLine(
  line: string,
  env: Readonly<Record<string, string | undefined>> = {},
  timeout = 40_000,
) {
  const hookline = `hookline() { "${process.execPath}" "${join(ROOT, 'src/cli/main.ts')}" "$@"; }`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const options = { env: { PATH, NODE_COMPILE_CACHE, ...env }, maxBuffer: 16 * 1024 * 1024, timeout };
  const args = ['--norc', '-o', 'pipefail', '-c', `${hookline}; ${line}`];
  return promisify(execFile)('bash', args, options);
}
