import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { underLock } from '../../stack/lock.ts';
import { onPath } from '../../stack/on-path.ts';
import { StackError } from '../../stack/stack-error.ts';
import { ROOT } from '../../support/source-tree.ts';
import { READERS_DIR } from './java.ts';
import type { Program } from './run-program.ts';

const FOLDER = join(ROOT, 'test/readers/python');
const REQUIREMENTS = join(FOLDER, 'requirements.txt');
const COMPLETE = 'complete';
const INSTALL_MS = 10 * 60_000;

/** Starts a script of test/readers/python in a virtual environment with the pinned libraries, made once for each list of them. */
export async function pythonProgram(script: string, args: readonly string[] = []): Promise<Program> {
  const hash = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const environment = join(READERS_DIR, `python-${hash}`);
  const signal = AbortSignal.timeout(INSTALL_MS);
  const onWait = () => console.log('readers: waiting for another process that installs');
  await underLock(join(READERS_DIR, 'python.lock'), { deadlineMs: INSTALL_MS, signal, onWait }, async () => {
    if (!existsSync(join(environment, COMPLETE))) await install(environment, signal);
  });
  return { command: join(environment, 'bin/python'), args: [join(FOLDER, script), ...args] };
}

/** Its paths are absolute: it is made where it stays, and complete when its last file is there. */
async function install(environment: string, signal: AbortSignal): Promise<void> {
  const python = onPath('python3', process.env);
  if (python === null)
    throw new StackError('python3 is not on the PATH. Install Python 3.11 or later with venv.');
  console.log("readers: installing Python's libraries (90 MB) with pip, once");
  rmSync(environment, { recursive: true, force: true });
  const run = promisify(execFile);
  try {
    await run(python, ['-m', 'venv', environment], { signal });
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '-r', REQUIREMENTS];
    await run(join(environment, 'bin/python'), pip, { signal });
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    throw new StackError(`pip cannot install the readers' libraries:\n${stderr.slice(-2_000)}`);
  }
  writeFileSync(join(environment, COMPLETE), '');
}
