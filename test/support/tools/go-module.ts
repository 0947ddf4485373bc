import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from '../../stack/on-path.ts';
import { StackError } from '../../stack/stack-error.ts';
import type { Build } from './go-tool.ts';

const DOWNLOAD_MS = 10 * 60_000;

/** The folder of what is published as a Go module, fetched once: its files, not its program. */
export async function goModule(name: string, version: string, { env, dir, signal }: Build): Promise<string> {
  if (onPath('go', env) === null)
    throw new StackError(`${name} is needed, and Go, which fetches it, is not on the PATH. Install Go.`);
  const cwd = join(dir, 'modules');
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'go.mod'), 'module modules\n\ngo 1.24\n');
  const args = ['mod', 'download', '-json', `${name}@${version}`];
  const options = { cwd, signal, timeout: DOWNLOAD_MS, env: { ...env, GOFLAGS: '-mod=mod' } };
  try {
    const { stdout } = await promisify(execFile)('go', args, options);
    return JSON.parse(stdout).Dir;
  } catch (error) {
    signal.throwIfAborted();
    const { stdout = '', stderr = String(error) } = error as { stdout?: string; stderr?: string };
    throw new StackError(`Go can't fetch ${name} ${version}:\n${(stderr || stdout).trimEnd()}`);
  }
}
