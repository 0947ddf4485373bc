import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from '../../stack/on-path.ts';
import { StackError } from '../../stack/stack-error.ts';
import { ROOT } from '../../support/source-tree.ts';
import { READERS_DIR } from './java.ts';
import type { Program } from './run-program.ts';

const MODULE = join(ROOT, 'test/readers/go');
const BUILD_MS = 10 * 60_000;

/** Builds the module test/readers/go, whose go.sum pins all that it takes; Go itself knows what is built already. */
export async function goProgram(args: readonly string[] = []): Promise<Program> {
  const go = onPath('go', process.env);
  if (go === null) throw new StackError('go is not on the PATH. Install Go 1.26 or later.');
  mkdirSync(READERS_DIR, { recursive: true });
  const command = join(READERS_DIR, 'go-reader');
  try {
    const build = ['build', '-mod=readonly', '-trimpath', '-o', command, '.'];
    await promisify(execFile)(go, build, { cwd: MODULE, timeout: BUILD_MS });
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    throw new StackError(`Go cannot build the reader:\n${stderr.slice(-2_000)}`);
  }
  return { command, args };
}
